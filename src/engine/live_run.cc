#include "engine/live_run.h"

#include <algorithm>

#include "base/check.h"
#include "engine/journal_reading.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr int64_t full_disk_first_ms = 100;
constexpr int64_t full_disk_ms_max = 5'000;

}  // namespace

LiveRun::LiveRun(Needs needs, model::Run run, model::Message message, std::string request_id)
    : needs_(needs),
      run_(std::move(run)),
      message_(std::move(message)),
      request_id_(std::move(request_id)),
      accepted_us_(needs.loop.monotonic_us()),
      cancelling_(needs.loop, run_.id) {}

void LiveRun::mark_dirty() {
  if (!std::exchange(dirty_, true)) needs_.owner.on_dirty(run_.id);
}

LiveRun::Batch& LiveRun::batch() {
  return pending_.empty() || !pending_.back().takes_more() ? pending_.emplace_back() : pending_.back();
}

// ── its lifecycle ───────────────────────────────────────────────────────────────────────────────

std::optional<Duty> LiveRun::happen(Happening what) {
  const auto row = step(run_.state, what);
  if (!row) return std::nullopt;
  needs_.duties.on_step(run_, *row);
  if (row->to != run_.state) {
    auto& carrier = batch();
    carrier.state = row->to;
    carrier.duty = row->then;
  }
  run_.state = row->to;
  message_.status = model::message_status(run_.state);
  return row->then;
}

void LiveRun::perform(Duty duty) {
  SLUICE_CHECK(belongs_to(duty, run_.state));
  switch (duty) {
    case Duty::none: return;
    case Duty::admit: return needs_.duties.admit(*this);
    // A cancel, or an end, that came while this was being written has a duty of its own.
    case Duty::launch: return run_.state == RunState::streaming ? needs_.duties.launch(*this) : void();
    case Duty::resume: return run_.state == RunState::streaming ? needs_.duties.resume(*this) : void();
    case Duty::park: return settle_in_park();
    case Duty::interrupt: return stop_work();
    case Duty::reap: return finish();
  }
}

void LiveRun::restart() {
  const auto duty = happen(Happening::server_restarted);
  SLUICE_CHECK(duty.has_value() && pending_.empty());
  perform(*duty);
}

void LiveRun::add(model::EventKind kind, std::string body) {
  batch().add({kind, needs_.loop.now(), std::move(body)});
  mark_dirty();
  hold_back_if_full();
}

void LiveRun::hold_back_if_full() {
  const bool is_full = has_work() && is_too_much(pending_);
  if (std::exchange(held_back_, is_full) != is_full && has_work()) work_->hold_back(is_full);
}

void LiveRun::keep_opening(journal::CommittedBatch opening) {
  SLUICE_CHECK(!opening.empty() && opening.back().position() == run_.head);
  opening_ = std::move(opening);
  told_at_ = opening_.back().event().at;
}

bool LiveRun::renew(Callback<void()> then) {
  if (writing_) return false;
  writing_ = true;  // until the answer: what is written then bears the new epoch
  renewal_ = std::move(then);
  needs_.store.take_over(run_.id, run_.epoch, lifetime_.guard([this](const Result<model::Run>& taken) {
    if (!taken) note_answer(taken.error());
    on_renewed(taken);
  }));
  return true;
}

// ── while it is held ────────────────────────────────────────────────────────────────────────────

bool LiveRun::tell_place(Place place) {
  if (run_.state != RunState::held) return false;
  add(model::EventKind::queued, body_of(place));
  return true;
}

void LiveRun::start() {
  SLUICE_CHECK(launch_ != nullptr);
  SLUICE_CHECK(happen(Happening::slot_freed) == Duty::launch);
  add(model::EventKind::started, launch_->started_body);
}

void LiveRun::end_hold() {
  if (!happen(Happening::hold_expired)) return;
  auto problem =
      problem_of(model::Slug::capacity_exhausted,
                 "No slot became free within " + std::to_string(needs_.options.max_hold_seconds) + " seconds.");
  add(model::EventKind::failed, problem_json(problem));
}

// ── what the agent says ─────────────────────────────────────────────────────────────────────────

void LiveRun::use_up_checkpoint(Callback<void()> then) {
  add(model::EventKind::checkpoint, "");
  when_written(std::move(then));
}

void LiveRun::clear_mark(Callback<void()> then) {
  marked_ = false;
  add(model::EventKind::mark, "");
  when_written(std::move(then));
}

void LiveRun::when_written(Callback<void()> then) {
  if (!pending_.empty()) {
    pending_.back().written.push_back(std::move(then));
  } else if (writing_ && !renewal_) {
    in_flight_.written.push_back(std::move(then));
  } else {
    needs_.loop.defer(std::move(then));
  }
}

void LiveRun::work_by(std::unique_ptr<dispatch::Work> work) {
  SLUICE_CHECK(!has_work());
  work_ = std::move(work);
  work_over_ = false;
  at_gate_ = held_back_ = false;
  hold_back_if_full();
}

void LiveRun::suspend_work(bool suspended) {
  if (has_work()) work_->suspend(suspended);
}

void LiveRun::on_event(model::RunEvent event) {
  if (is_over(run_.state) || run_.state == RunState::finishing) return;
  if (event.kind == model::EventKind::text) message_.content += event.body;
  if (event.kind == model::EventKind::replaced && !model::take_back(message_.content, event.body)) {
    event =
        model::encode(model::events::Log{.level = "warn",
                                         .text = "The agent took text back that it had not told; nothing was changed."},
                      event.at);
  }
  steps_.see(event);
  batch().add(std::move(event));
  mark_dirty();
  hold_back_if_full();
}

void LiveRun::on_finished(model::Usage usage) {
  if (is_over(run_.state)) return;
  const auto duty = happen(Happening::result);
  if (!duty) return on_failed({.detail = "The agent ended while it was to wait for a human."});
  if (*duty != Duty::reap) return;  // it is being stopped, and ends with the proof of that
  message_.usage = usage;
  add(model::EventKind::completed, model::to_json(message_));
}

void LiveRun::on_failed(model::Problem problem) {
  if (is_over(run_.state)) return;
  if (run_.state == RunState::parked) resolve_gate(model::ApprovalStatus::expired, "failure");
  if (happen(Happening::error) != Duty::reap) return;  // it is being stopped, and ends with the proof of that
  close_steps("The run ended before the tool call did.");
  add(model::EventKind::failed, problem_json(problem));
}

void LiveRun::close_steps(std::string_view why) {
  for (auto& end : steps_.close(why, needs_.loop.now())) batch().add(std::move(end));
}

std::string LiveRun::problem_json(const model::Problem& problem) {
  problem_name_ = model::entry_of(problem.slug).name;
  std::string out;
  model::append_json(out, problem, {needs_.options.public_base_url, "", request_id_});
  return out;
}

void LiveRun::cancel(Cancelling::Asker done) {
  cancelling_.add(std::move(done), [this] {
    if (run_.state == RunState::finishing && has_work()) stop_worker();
  });
  if (is_over(run_.state)) return;  // its end is being written; who asked hears of it then
  resolve_gate(model::ApprovalStatus::expired, "cancel");
  const auto duty = happen(Happening::cancel_requested);
  SLUICE_CHECK(duty.has_value());
  if (*duty == Duty::reap) add_cancelled_end();  // nothing worked on it
  mark_dirty();
}

void LiveRun::wait_for_end(Ref<EndWaiter> waiter) {
  std::erase_if(waiters_, [](const auto& left) { return left.get() == nullptr; });
  waiters_.push_back(std::move(waiter));
}

// ── writing ─────────────────────────────────────────────────────────────────────────────────────

void LiveRun::flush() {
  dirty_ = false;
  if (writing_ || pending_.empty()) return;
  SLUICE_CHECK(in_flight_.events.empty() && !in_flight_.state && in_flight_.written.empty());
  writing_ = true;
  in_flight_ = std::move(pending_.front());
  SLUICE_CHECK(belongs_to(in_flight_.duty, in_flight_.state.value_or(RunState::accepted)));
  pending_.erase(pending_.begin());
  for (auto& event : in_flight_.events) event.at = told_at_ = std::max(told_at_, event.at);

  journal::Append append{.run = run_.id, .epoch = run_.epoch, .head = run_.head, .events = in_flight_.events};
  if (in_flight_.state || !in_flight_.written.empty()) append.commit_class = journal::CommitClass::boundary;
  append.state = in_flight_.state;
  if (in_flight_.state && (in_flight_.gate || is_over(*in_flight_.state))) {
    append.assistant_message = message_;
    append.assistant_message->status = model::message_status(*in_flight_.state);
  }
  if (in_flight_.gate) {
    append.approval = in_flight_.gate->approval;
    append.secrets = in_flight_.gate->secrets;
    append.audit = in_flight_.gate->audit;
    append.notices = in_flight_.gate->notices;
    append.agui = in_flight_.gate->agui;
  }
  needs_.store.append(std::move(append), lifetime_.guard([this](Result<journal::CommittedBatch> written) {
    SLUICE_CHECK(!written || written.value().size() == in_flight_.events.size());
    SLUICE_CHECK(!written || written.value().empty() ||
                 written.value().back().position().value == run_.head.value + written.value().size());
    on_written(std::move(written));
  }));
  hold_back_if_full();
}

void LiveRun::on_written(Result<journal::CommittedBatch> written) {
  writing_ = false;
  if (!written) return on_refused(written.error());
  refusals_ = 0;
  if (std::exchange(doubted_, false)) needs_.owner.on_sure();
  run_.head.value += written.value().size();
  auto done = std::exchange(in_flight_, {});

  const auto watch = lifetime_.watch();
  tell(written.value());
  if (watch.is_over()) return;
  acknowledge(done.events);
  if (done.gate) on_gate_written(*done.gate);
  if (watch.is_over()) return;
  perform(done.duty);
  if (watch.is_over()) return;
  for (auto& waiter : done.written) {
    waiter();
    if (watch.is_over()) return;
  }
  flush();
}

void LiveRun::acknowledge(const std::vector<model::RunEvent>& written) {
  if (work_ == nullptr) return;  // one that is over waits for the last of them
  const auto last = std::ranges::find(written.rbegin(), written.rend(), model::EventKind::mark, &model::RunEvent::kind);
  if (last != written.rend() && !last->body.empty()) work_->written(last->body);
}

// The wish to cancel is on disk. Now stop whoever works; the run is over when that is proven.
void LiveRun::stop_work() {
  cancelling_.note_written();
  if (!has_work()) return end_cancelled();
  stop_worker();
}

// Before the wish is on disk, too: a server that dies then leaves a run whose work was lost, which the next one ends.
void LiveRun::stop_worker() {
  SLUICE_CHECK(cancelling_.is_wanted() && work_ != nullptr);
  if (std::exchange(stopping_, true)) return;
  work_->stop(lifetime_.guard([this] { cancelling_.is_written() ? end_cancelled() : work_.reset(); }));
}

void LiveRun::end_cancelled() {
  work_.reset();
  SLUICE_CHECK(happen(Happening::work_stopped) == Duty::reap);
  add_cancelled_end();
}

void LiveRun::add_cancelled_end() {
  close_steps("The run was cancelled.");
  const auto problem = problem_of(model::Slug::run_cancelled, "The run was cancelled by request.");
  add(model::EventKind::cancelled, problem_json(problem));
}

void LiveRun::on_refused(const Error& why) {
  note_answer(why);
  const bool name_is_taken = why.kind == ErrorKind::invalid && in_flight_.gate && in_flight_.gate->agui;
  // A conflict is another server's word, or the late fate of a write of this one: only the journal knows.
  if (why.kind == ErrorKind::unavailable || why.kind == ErrorKind::conflict) return be_unsure(why);
  if (why.kind != ErrorKind::overloaded && !name_is_taken) return needs_.owner.on_lost(*this, why);
  repeat(why, name_is_taken);
}

void LiveRun::repeat(const Error& why, bool name_is_taken) {
  // Nothing was written, so nothing is lost: a human can decide again, and all else is tried again.
  auto refused = std::exchange(in_flight_, {});
  if (can_take_back(refused)) {
    auto decided = take_back(std::move(*refused.before));
    if (!pending_.empty()) mark_dirty();
    if (name_is_taken) return decided(name_taken(why, "decided"));
    return decided(unavailable("The store cannot write right now; the approval is still pending."));
  }
  if (name_is_taken) refused.gate->agui.reset();  // what came after it counts more than a name that is not free
  refused.closed = true;
  // Written again it bears the same times: that it was written after all is seen by that.
  if (!refused.events.empty()) told_at_ = refused.events.front().at;
  pending_.insert(pending_.begin(), std::move(refused));
  const int before = refusals_++;
  if (before == 0 && why.kind != ErrorKind::overloaded) return flush();  // it was not written by mishap: there is room
  const int64_t wait = std::min(full_disk_ms_max, full_disk_first_ms << std::min(before, 10));
  writing_ = true;  // until the timer: nobody else starts a write meanwhile
  again_ = needs_.loop.after({wait}, [this] {
    writing_ = false;
    flush();
  });
}

// ── telling ─────────────────────────────────────────────────────────────────────────────────────

void LiveRun::attach(JournalReading& reading, const wire::Fold& fold, const wire::View& view) {
  SLUICE_CHECK(fold.at() == run_.head);
  // Who knows more than was told here, by another server or by a disk that was quicker than its answer, is not told it
  // again. Nobody else must miss it for that.
  const auto after = view.after < fold.next_seq() ? -1 : view.after;
  auto found = std::ranges::find_if(audiences_, [&](const auto& audience) {
    return audience->format == view.format && audience->segment == view.segment && audience->after == after;
  });
  if (found == audiences_.end()) {
    audiences_.push_back(std::make_unique<Audience>(Audience{view.format, view.segment, after, fold, {}}));
    found = std::prev(audiences_.end());
  }
  SLUICE_CHECK((*found)->fold.next_seq() == fold.next_seq());
  (*found)->readings.push_back(&reading);
}

void LiveRun::detach(JournalReading& reading) {
  for (auto& audience : audiences_) {
    auto& readings = audience->readings;
    std::replace(readings.begin(), readings.end(), &reading, static_cast<JournalReading*>(nullptr));
  }
  if (!telling_) forget_empty_audiences();
}

void LiveRun::forget_empty_audiences() {
  std::erase_if(audiences_, [](const auto& audience) {
    return std::ranges::all_of(audience->readings, [](const auto* left) { return left == nullptr; });
  });
}

void LiveRun::tell(const journal::CommittedBatch& news) {
  for (const auto& committed : news) {
    const auto kind = committed.event().kind;
    if (auto ending = wire::ending_of(committed)) {
      ending_ = std::move(ending);
      run_.ended_at = committed.event().at;
    }
    if (kind == model::EventKind::resumed) ++resumed_count_;
    if (kind == model::EventKind::queued || kind == model::EventKind::started || kind == model::EventKind::mark ||
        first_told_) {
      continue;
    }
    first_told_ = true;
    needs_.figures.first_event.observe_us(needs_.loop.monotonic_us() - accepted_us_);
  }
  const auto watch = lifetime_.watch();
  telling_ = true;
  for (std::size_t i = 0; i < audiences_.size(); ++i) {
    tell_audience(*audiences_[i], news);
    if (watch.is_over()) return;
  }
  telling_ = false;
  forget_empty_audiences();
}

void LiveRun::tell_audience(Audience& audience, const journal::CommittedBatch& news) {
  auto& readings = audience.readings;
  std::erase(readings, nullptr);
  // Whoever cannot take more goes on alone from here, reading the journal at its own pace.
  for (auto& reading : readings) {
    if (reading->full()) std::exchange(reading, nullptr)->fall_behind(audience.fold);
  }
  std::erase(readings, nullptr);
  if (readings.empty()) return;
  constexpr std::size_t envelope_bytes = 240;
  std::size_t size = 0;
  for (const auto& committed : news) size += envelope_bytes + committed.event().body.size();
  std::string lines;
  lines.reserve(size);
  for (const auto& committed : news) audience.fold.apply(committed, lines);
  const auto shared = std::make_shared<const std::string>(std::move(lines));
  const auto watch = lifetime_.watch();
  // By index: a reader may leave, and take others with it, while it is being told.
  for (std::size_t i = 0; i < readings.size() && !shared->empty(); ++i) {
    if (readings[i] != nullptr) readings[i]->deliver(shared);
    if (watch.is_over()) return;
  }
  // What they wanted to see is over, and the run is not.
  if (audience.fold.ended() && !ending_) {
    dismiss(audience, [](JournalReading& reading, const wire::Fold& fold) { reading.end(fold); });
  }
}

template <typename Farewell>
bool LiveRun::dismiss(Audience& audience, Farewell farewell) {
  const auto watch = lifetime_.watch();
  for (std::size_t i = 0; i < audience.readings.size(); ++i) {
    if (auto* reading = std::exchange(audience.readings[i], nullptr)) farewell(*reading, audience.fold);
    if (watch.is_over()) return false;
  }
  return true;
}

template <typename Farewell>
void LiveRun::dismiss_readers(Farewell farewell) {
  telling_ = true;
  for (std::size_t i = 0; i < audiences_.size(); ++i) {
    if (!dismiss(*audiences_[i], farewell)) return;
  }
  telling_ = false;
  audiences_.clear();
}

void LiveRun::finish() {
  SLUICE_CHECK(ending_.has_value() && is_over(run_.state));
  work_.reset();
  const auto watch = lifetime_.watch();
  dismiss_readers([](JournalReading& reading, const wire::Fold& fold) { reading.end(fold); });
  for (const auto& ref : std::exchange(waiters_, {})) {
    if (auto* waiter = ref.get()) waiter->answer(*ending_);
  }
  cancelling_.answer(run_);
  SLUICE_CHECK(!watch.is_over());
  needs_.owner.on_over(*this);
}

void LiveRun::let_go(const Error& why) {
  work_.reset();
  secrets_.reset();
  dismiss_readers([&why](JournalReading& reading, const wire::Fold&) { reading.lose(why); });
  for (const auto& ref : std::exchange(waiters_, {})) {
    if (auto* waiter = ref.get()) waiter->answer(why);
  }
}

void LiveRun::abandon(const Error& why) {
  let_go(why);
  refuse_askers(why);
}

std::vector<Ref<EndWaiter>> LiveRun::hand_on(const Error& why) {
  work_.reset();
  dismiss_readers([](JournalReading& reading, const wire::Fold& fold) { reading.go_on_alone(fold); });
  refuse_askers(why);
  return std::exchange(waiters_, {});
}

void LiveRun::refuse_askers(const Error& why) {
  again_.cancel();
  cancelling_.answer(why);
  if (!gate_ || !gate_->decided) return;
  auto decided = std::exchange(gate_->decided, nullptr);
  if (why.kind != ErrorKind::conflict) return decided(problem_of_store(why, "decision"));
  decided(unavailable("The run moved to another server while it was being decided; nothing was decided here."));
}

}  // namespace sluice::engine
