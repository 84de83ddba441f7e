#include "engine/live_run.h"

#include <algorithm>

#include "base/check.h"
#include "engine/journal_reading.h"

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
      self_(std::make_shared<LiveRun*>(this)) {}

LiveRun::~LiveRun() { *self_ = nullptr; }

void LiveRun::mark_dirty() {
  if (!std::exchange(dirty_, true)) needs_.owner.on_dirty(run_.id);
}

bool LiveRun::happen(Happening what) {
  const auto row = step(run_.state, what);
  if (!row) return false;
  if (row->to != run_.state) state_to_write_ = row->to;
  run_.state = row->to;
  return true;
}

// ── what the agent says ─────────────────────────────────────────────────────────────────────────

void LiveRun::on_event(model::RunEvent event) {
  if (is_over(run_.state) || run_.state == RunState::finishing) return;
  if (event.kind == model::EventKind::text) message_.content += event.body;
  steps_.see(event);
  pending_.push_back(std::move(event));
  mark_dirty();
}

void LiveRun::on_finished(model::Usage usage) {
  if (is_over(run_.state) || run_.state == RunState::finishing) return;
  SLUICE_CHECK(happen(Happening::result));
  message_.status = model::message_status(run_.state);
  message_.usage = usage;
  end_with(model::EventKind::completed, model::to_json(message_));
}

void LiveRun::on_failed(model::Problem problem) {
  if (is_over(run_.state) || run_.state == RunState::finishing) return;
  SLUICE_CHECK(happen(Happening::error));
  message_.status = model::message_status(run_.state);
  close_steps("The run ended before the tool call did.");
  end_with(model::EventKind::failed, problem_json(problem));
}

void LiveRun::close_steps(std::string_view why) {
  for (auto& end : steps_.close(why, needs_.loop.now())) pending_.push_back(std::move(end));
}

void LiveRun::end_with(model::EventKind kind, std::string body) {
  pending_.push_back({kind, needs_.loop.now(), std::move(body)});
  mark_dirty();
}

std::string LiveRun::problem_json(const model::Problem& problem) {
  problem_name_ = model::entry_of(problem.slug).name;
  std::string out;
  model::append_json(out, problem, {needs_.public_base_url, "", request_id_});
  return out;
}

void LiveRun::cancel(Callback<void(Result<model::Run>)> done) {
  cancellers_.push_back(std::move(done));
  if (is_over(run_.state)) return;  // its end is being written; who asked hears of it then
  SLUICE_CHECK(happen(Happening::cancel_requested));
  mark_dirty();
}

void LiveRun::resume_cancelling() {
  SLUICE_CHECK(run_.state == RunState::finishing);
  end_cancelled();
}

void LiveRun::wait_for_end(std::weak_ptr<Callback<void(Result<wire::Ending>)>> waiter) {
  std::erase_if(waiters_, [](const auto& left) { return left.expired(); });
  waiters_.push_back(std::move(waiter));
}

// ── writing ─────────────────────────────────────────────────────────────────────────────────────

void LiveRun::flush() {
  dirty_ = false;
  if (writing_) return;
  if (pending_.empty() && !state_to_write_) return;
  writing_ = true;
  in_flight_ = std::move(pending_);
  pending_.clear();
  state_in_flight_ = std::exchange(state_to_write_, std::nullopt);

  store::Append append{.run = run_.id, .epoch = run_.epoch, .head = run_.head, .events = in_flight_};
  if (state_in_flight_) {
    append.commit_class = store::CommitClass::boundary;
    append.state = state_in_flight_;
    if (is_over(*state_in_flight_)) append.assistant_message = message_;
  }
  needs_.store.append(std::move(append), [self = self_](Result<store::CommittedBatch> written) {
    if (*self != nullptr) (*self)->on_written(std::move(written));
  });
}

void LiveRun::on_written(Result<store::CommittedBatch> written) {
  writing_ = false;
  if (!written) return on_refused(written.error());
  refusals_ = 0;
  in_flight_.clear();
  run_.head.value += written.value().size();
  const auto state = std::exchange(state_in_flight_, std::nullopt);

  const auto self = self_;
  tell(written.value());
  if (*self == nullptr) return;
  if (state && is_over(*state)) return finish();
  if (state == RunState::finishing) stop_work();
  flush();
}

// The wish to cancel is on disk. Now stop whoever works; the run is over when that is proven.
void LiveRun::stop_work() {
  if (!work_) return end_cancelled();
  work_->stop([self = self_] {
    if (*self != nullptr) (*self)->end_cancelled();
  });
}

void LiveRun::end_cancelled() {
  work_.reset();
  SLUICE_CHECK(happen(Happening::sandbox_lost));
  message_.status = model::message_status(run_.state);
  close_steps("The run was cancelled.");
  model::Problem problem;
  problem.slug = model::Slug::run_cancelled;
  problem.detail = "The run was cancelled by request.";
  end_with(model::EventKind::cancelled, problem_json(problem));
}

void LiveRun::on_refused(const Error& why) {
  if (why.kind != ErrorKind::overloaded) return needs_.owner.on_lost(*this, why);
  // Nothing was written, so nothing is lost: the same again, and whatever has come since.
  in_flight_.insert(in_flight_.end(), std::make_move_iterator(pending_.begin()),
                    std::make_move_iterator(pending_.end()));
  pending_ = std::move(in_flight_);
  in_flight_.clear();
  if (!state_to_write_) state_to_write_ = state_in_flight_;
  state_in_flight_.reset();
  const int64_t wait = std::min(full_disk_ms_max, full_disk_first_ms << std::min(refusals_++, 10));
  writing_ = true;  // until the timer: nobody else starts a write meanwhile
  again_ = needs_.loop.after({wait}, [this] {
    writing_ = false;
    flush();
  });
}

// ── telling ─────────────────────────────────────────────────────────────────────────────────────

void LiveRun::attach(JournalReading& reading, const wire::Fold& fold, wire::Format format) {
  SLUICE_CHECK(fold.at() == run_.head);
  auto& audience = audiences_[static_cast<std::size_t>(format)];
  if (!audience.fold) audience.fold = fold;
  SLUICE_CHECK(audience.fold->next_seq() == fold.next_seq());
  audience.readings.push_back(&reading);
}

void LiveRun::detach(JournalReading& reading) {
  for (auto& audience : audiences_) {
    std::replace(audience.readings.begin(), audience.readings.end(), &reading, static_cast<JournalReading*>(nullptr));
  }
}

void LiveRun::tell(const store::CommittedBatch& news) {
  for (const auto& committed : news) {
    if (auto ending = wire::ending_of(committed)) {
      ending_ = std::move(ending);
      run_.ended_at = committed.event().at;
    }
  }
  if (!std::exchange(first_told_, true)) {
    needs_.first_event.observe_us(needs_.loop.monotonic_us() - accepted_us_);
  }
  const auto self = self_;
  for (auto& audience : audiences_) {
    tell_audience(audience, news);
    if (*self == nullptr) return;
  }
}

void LiveRun::tell_audience(Audience& audience, const store::CommittedBatch& news) {
  auto& readings = audience.readings;
  std::erase(readings, nullptr);
  if (readings.empty()) {
    audience.fold.reset();
    return;
  }
  // Whoever cannot take more goes on alone from here, reading the journal at its own pace.
  for (auto& reading : readings) {
    if (reading->full()) std::exchange(reading, nullptr)->fall_behind(*audience.fold);
  }
  constexpr std::size_t envelope_bytes = 240;
  std::size_t size = 0;
  for (const auto& committed : news) size += envelope_bytes + committed.event().body.size();
  std::string lines;
  lines.reserve(size);
  for (const auto& committed : news) audience.fold->apply(committed, lines);
  if (lines.empty()) return;
  const auto shared = std::make_shared<const std::string>(std::move(lines));
  const auto self = self_;
  // By index: a reader may leave, and take others with it, while it is being told.
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (readings[i] != nullptr) readings[i]->deliver(shared);
    if (*self == nullptr) return;
  }
}

void LiveRun::finish() {
  SLUICE_CHECK(ending_.has_value());
  work_.reset();
  const auto self = self_;
  for (auto& audience : audiences_) {
    for (std::size_t i = 0; i < audience.readings.size(); ++i) {
      if (auto* reading = std::exchange(audience.readings[i], nullptr)) reading->end();
    }
  }
  for (auto& weak : std::exchange(waiters_, {})) {
    if (const auto waiter = weak.lock()) (*waiter)(*ending_);
  }
  for (auto& done : std::exchange(cancellers_, {})) done(run_);
  SLUICE_CHECK(*self != nullptr);
  needs_.owner.on_over(*this);
}

void LiveRun::abandon(const Error& why) {
  work_.reset();
  again_.cancel();
  for (auto& audience : audiences_) {
    for (std::size_t i = 0; i < audience.readings.size(); ++i) {
      if (auto* reading = std::exchange(audience.readings[i], nullptr)) reading->lose(why);
    }
  }
  for (auto& weak : std::exchange(waiters_, {})) {
    if (const auto waiter = weak.lock()) (*waiter)(why);
  }
  for (auto& done : std::exchange(cancellers_, {})) done(why);
}

}  // namespace sluice::engine
