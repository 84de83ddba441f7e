#include "flow/line_reading.h"

namespace sluice::flow {

LineReading::LineReading(const FlowNeeds& needs, Owner& owner, const model::WorkflowRun& run, LineView view,
                         engine::Reader& reader)
    : needs_(needs), owner_(owner), tenant_(run.tenant_id), run_(run.id), view_(view), reader_(reader) {
  owner_.enter(run_, *this);
  needs_.loop.defer(lifetime_.guard([this] { pump(); }));
}

LineReading::~LineReading() { owner_.leave(run_, *this); }

void LineReading::more() {
  if (inner_) return inner_->more();
  pump();
}

void LineReading::on_news() {
  has_news_ = true;
  needs_.loop.defer(lifetime_.guard([this] { pump(); }));
}

void LineReading::on_left(const Error& why) {
  if (inner_) return;  // the inner reading reports its lines and then its end
  lose(why);
}

void LineReading::pump() {
  const auto life = lifetime_.watch();
  while (!life.is_over() && !over_ && !is_asking_ && !inner_ && !reader_.full()) {
    if (bodies_.empty() && has_news_) return read_page();
    // A run that is not there although its block has ended was never made. While the block goes on it may still come.
    if (wanted_run_) return find_run();
    if (!bodies_.empty()) {
      tell_next();
      continue;
    }
    if (!owner_.carries(run_)) {
      lose({ErrorKind::unavailable, "the workflow run is not being carried on by this server"});
    }
    return;
  }
}

void LineReading::read_page() {
  is_asking_ = true;
  has_news_ = false;
  store::workflow_journal(needs_.store.database(), run_, read_to_,
                          lifetime_.guard([this](const Result<store::WorkflowJournalPage>& page) { on_page(page); }));
}

void LineReading::on_page(const Result<store::WorkflowJournalPage>& page) {
  is_asking_ = false;
  if (!page) return lose(page.error());
  for (const auto& body : page.value().bodies) bodies_.push_back(body);
  read_to_.value += page.value().bodies.size();
  if (!page.value().bodies.empty()) has_news_ = true;  // this was one page of perhaps many
  pump();
}

void LineReading::tell_next() {
  const auto body = std::move(bodies_.front());
  bodies_.pop_front();
  const auto event = model::workflow_event_from_body(body);
  if (!event) return lose(event.error());
  if (const auto* started = std::get_if<model::BlockStarted>(&event.value().what)) {
    block_ = started->block;
    wanted_run_ = started->run_id;
  }
  const auto seq = next_seq_;
  const auto life = lifetime_.watch();
  if (!is_known_line()) {
    auto line = std::make_shared<std::string>();
    model::append_numbered(*line, seq, body);
    reader_.take(std::move(line));
  }
  if (life.is_over() || !std::holds_alternative<model::WorkflowFinished>(event.value().what)) return;
  over_ = true;
  reader_.end();
}

// ── the lines of a block's run ──────────────────────────────────────────────────────────────────

void LineReading::find_run() {
  is_asking_ = true;
  store::run(needs_.store.database(), tenant_, *wanted_run_,
             lifetime_.guard([this](const Result<model::Run>& run) { on_run(run); }));
}

void LineReading::on_run(const Result<model::Run>& run) {
  is_asking_ = false;
  if (run) {
    wanted_run_.reset();
    const auto format = view_.extended ? wire::Format::extended_trace : wire::Format::trace;
    engine::Reader& reader = *this;
    inner_ = needs_.engine.read(run.value(), {.format = format}, reader);
    return;
  }
  if (run.error().kind != ErrorKind::not_found) return lose(run.error());
  if (!bodies_.empty()) {
    wanted_run_.reset();
    return pump();
  }
  if (has_news_) return pump();
  if (!owner_.carries(run_)) lose({ErrorKind::unavailable, "the workflow run is not being carried on by this server"});
}

void LineReading::take(SharedBytes lines) {
  std::string head = R"(,"type":"block.line","block":)";
  json::append_string(head, block_);
  head += R"(,"line":)";
  auto out = std::make_shared<std::string>();
  std::string_view rest = *lines;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    const auto seq = next_seq_;
    if (!is_known_line()) (((((*out += R"({"seq":)") += std::to_string(seq)) += head) += line) += "}\n");
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (!out->empty()) reader_.take(std::move(out));
}

void LineReading::end() {
  // Not from inside its own callback: it would be dropped while it speaks.
  needs_.loop.defer(lifetime_.guard([this] {
    inner_.reset();
    has_news_ = true;
    pump();
  }));
}

void LineReading::lose(const Error& why) {
  if (std::exchange(over_, true)) return;
  reader_.lose(why);
}

}  // namespace sluice::flow
