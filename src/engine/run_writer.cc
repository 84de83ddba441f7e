#include "engine/run_writer.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr int64_t full_disk_first_ms = 100;
constexpr int64_t full_disk_ms_max = 5'000;
constexpr int64_t look_again_ms = 500;
constexpr int conflicts_max = 8;  // in a row, of one append that the journal does not have
constexpr std::size_t whole_batch = std::numeric_limits<int32_t>::max();

Error carried_elsewhere() { return {ErrorKind::conflict, "another server carries the run"}; }

// A conflict is another server's doing, or the late success of an earlier write of this one. Only the journal knows.
bool is_outcome_unknown(const Error& why) {
  return why.kind == ErrorKind::unavailable || why.kind == ErrorKind::conflict;
}

// An earlier append of this server whose answer was lost may have come through late. Then these are other events.
bool are_same(const journal::CommittedBatch& found, const std::vector<model::RunEvent>& wanted) {
  return std::ranges::equal(found, wanted, {}, [](const auto& committed) -> const auto& { return committed.event(); });
}

}  // namespace

// ── batches ─────────────────────────────────────────────────────────────────────────────────────

RunBatch& RunWriter::batch() {
  return pending_.empty() || !pending_.back().takes_more() ? pending_.emplace_back() : pending_.back();
}

void RunWriter::add(model::RunEvent event) {
  auto& open = batch();
  open.event_bytes += event.body.size();
  open.events.push_back(std::move(event));
  write_soon();
  host_.on_backlog(is_full());
}

void RunWriter::write_soon() {
  if (!pending_.empty() && !std::exchange(is_dirty_, true)) host_.on_dirty();
}

void RunWriter::when_written(Callback<void()> then) {
  if (!pending_.empty()) {
    pending_.back().written.push_back(std::move(then));
  } else if (stage_ != Stage::idle && !renewal_) {
    SLUICE_CHECK(stage_ != Stage::pausing);  // a batch that is written again would be pending
    in_flight_.written.push_back(std::move(then));
  } else {
    needs_.loop.defer(std::move(then));
  }
}

bool RunWriter::changes_state_later() const {
  return std::ranges::any_of(pending_, [](const RunBatch& later) { return later.state.has_value(); });
}

bool RunWriter::is_full() const {
  std::size_t events = 0, bytes = 0;
  for (const auto& batch : pending_) {
    events += batch.events.size();
    bytes += batch.event_bytes;
  }
  return events >= unwritten_events_max || bytes >= unwritten_event_bytes_max;
}

// ── appends ─────────────────────────────────────────────────────────────────────────────────────

void RunWriter::check_stage() const {
  const bool is_in_flight = !in_flight_.events.empty() || in_flight_.state || !in_flight_.written.empty();
  const bool is_renewal = static_cast<bool>(renewal_);
  const bool is_unknown = stage_ == Stage::unknown || stage_ == Stage::looking;
  SLUICE_CHECK(!is_in_flight || !is_renewal);
  SLUICE_CHECK(is_unknown == (why_unknown_ != nullptr));
  if (stage_ == Stage::idle) SLUICE_CHECK(!is_in_flight && !is_renewal);
  if (stage_ == Stage::appending) SLUICE_CHECK(!is_renewal);
  if (stage_ == Stage::renewing) SLUICE_CHECK(is_renewal);
  if (stage_ == Stage::pausing) SLUICE_CHECK(!is_in_flight);
}

void RunWriter::flush() {
  is_dirty_ = false;
  if (stage_ != Stage::idle || pending_.empty()) return;
  check_stage();
  stage_ = Stage::appending;
  in_flight_ = std::move(pending_.front());
  SLUICE_CHECK(belongs_to(in_flight_.duty, in_flight_.state.value_or(RunState::accepted)));
  pending_.erase(pending_.begin());
  for (auto& event : in_flight_.events) event.at = last_event_at_ = std::max(last_event_at_, event.at);

  const auto& run = record_.run;
  SLUICE_CHECK(run.epoch > model::Epoch{});
  journal::Append append{.run = run.id, .epoch = run.epoch, .head = run.head, .events = in_flight_.events};
  if (in_flight_.state || !in_flight_.written.empty()) append.commit_class = journal::CommitClass::boundary;
  append.state = in_flight_.state;
  if (in_flight_.state && (in_flight_.gate || is_over(*in_flight_.state))) {
    append.assistant_message = record_.message;
    append.assistant_message->status = model::message_status(*in_flight_.state);
  }
  if (in_flight_.gate) {
    SLUICE_CHECK(in_flight_.gate->approval && in_flight_.gate->approval->run_id == run.id);
    append.approval = in_flight_.gate->approval;
    append.secrets = in_flight_.gate->secrets;
    append.audit = in_flight_.gate->audit;
    append.notices = in_flight_.gate->notices;
    append.agui = in_flight_.gate->agui;
  }
  needs_.store.append(std::move(append), lifetime_.guard([this](Result<journal::CommittedBatch> written) {
    SLUICE_CHECK(stage_ == Stage::appending);
    if (!written) return on_refused(written.error());
    const auto& events = written.value();
    SLUICE_CHECK(events.size() == in_flight_.events.size());
    SLUICE_CHECK(events.empty() || events.front().position().value == record_.run.head.value + 1);
    SLUICE_CHECK(events.empty() || events.back().position().value == record_.run.head.value + events.size());
    on_written(events);
  }));
  host_.on_backlog(is_full());
}

void RunWriter::on_written(const journal::CommittedBatch& written) {
  stage_ = Stage::idle;
  refusals_ = 0;
  note_success();
  record_.run.head.value += written.size();
  auto done = std::exchange(in_flight_, {});

  const auto watch = lifetime_.watch();
  host_.on_written(done, written);
  if (watch.is_over()) return;
  for (auto& waiter : done.written) {
    waiter();
    if (watch.is_over()) return;
  }
  flush();
}

void RunWriter::on_refused(const Error& why) {
  note_refusal(why);
  const bool name_is_taken = why.kind == ErrorKind::invalid && in_flight_.gate && in_flight_.gate->agui;
  if (is_outcome_unknown(why)) return be_unsure(why);
  if (why.kind != ErrorKind::overloaded && !name_is_taken) return host_.on_lost(why);
  repeat(why, name_is_taken);
}

// Nothing was written, so nothing is lost: a human can decide again, and everything else is written again.
void RunWriter::repeat(const Error& why, bool name_is_taken) {
  stage_ = Stage::idle;
  auto refused = std::exchange(in_flight_, {});
  if (host_.undo(refused, why, name_is_taken)) return;
  // An AG-UI run id that is taken is given up rather than what was decided after it.
  if (name_is_taken) refused.gate->agui.reset();
  refused.closed = true;
  // The repetition has the times of the first attempt, by which are_same() recognizes an append that came through late.
  if (!refused.events.empty()) last_event_at_ = refused.events.front().at;
  pending_.insert(pending_.begin(), std::move(refused));
  const int before = refusals_++;
  if (before == 0 && why.kind != ErrorKind::overloaded) return flush();  // the disk has room: no need to wait
  pause(std::min(full_disk_ms_max, full_disk_first_ms << std::min(before, 10)), [this] { flush(); });
}

// Nothing else is begun meanwhile.
void RunWriter::pause(int64_t wait_ms, Callback<void()> then) {
  SLUICE_CHECK(stage_ != Stage::appending && stage_ != Stage::looking);
  stage_ = Stage::pausing;
  timer_ = needs_.loop.after({wait_ms}, [this, then = std::move(then)]() mutable {
    check_stage();
    stage_ = Stage::idle;
    then();
  });
}

// ── the epoch ───────────────────────────────────────────────────────────────────────────────────

bool RunWriter::renew(Callback<void()> then) {
  if (stage_ != Stage::idle) return false;
  stage_ = Stage::renewing;  // until the answer: what is written then has the new epoch
  renewal_ = std::move(then);
  check_stage();
  needs_.store.take_over(record_.run.id, record_.run.epoch, lifetime_.guard([this](const Result<model::Run>& taken) {
    SLUICE_CHECK(stage_ == Stage::renewing);
    if (!taken) note_refusal(taken.error());
    on_renewed(taken);
  }));
  return true;
}

// A renewal that failed is tried again: until it succeeds another node may take the run, and nothing of it is begun.
void RunWriter::on_renewed(const Result<model::Run>& taken) {
  if (taken) {
    SLUICE_CHECK(taken.value().id == record_.run.id && taken.value().epoch > record_.run.epoch);
    stage_ = Stage::idle;
    record_.run.epoch = taken.value().epoch;
    note_success();
    const auto watch = lifetime_.watch();
    std::exchange(renewal_, nullptr)();
    if (!watch.is_over()) flush();
    return;
  }
  const auto& why = taken.error();
  if (is_outcome_unknown(why)) return be_unsure(why);
  if (why.kind != ErrorKind::overloaded) return host_.on_lost(why);
  stage_ = Stage::renewing;
  pause(look_again_ms, [this] { renew(std::exchange(renewal_, nullptr)); });
}

// ── an unknown outcome ──────────────────────────────────────────────────────────────────────────

void RunWriter::be_unsure(const Error& why) {
  SLUICE_CHECK(stage_ == Stage::appending || stage_ == Stage::renewing);
  stage_ = Stage::unknown;  // nothing follows until it is known
  why_unknown_ = std::make_unique<Error>(why);
  is_unsettled_ = true;
  check_stage();
  if (why.kind == ErrorKind::unavailable) return host_.on_unsure(why);
  settle();
}

// That nothing was written is certain, too. A run that waits for room on the disk may wait as long as it takes.
void RunWriter::note_refusal(const Error& why) {
  if (why.kind == ErrorKind::overloaded) note_success();
}

void RunWriter::note_success() {
  if (std::exchange(is_unsettled_, false)) host_.on_sure();
}

void RunWriter::settle() {
  if (stage_ != Stage::unknown) return;
  stage_ = Stage::looking;
  check_stage();
  needs_.store.read(record_.run.id, record_.run.head, whole_batch,
                    lifetime_.guard([this](const Result<journal::JournalPage>& page) { on_journal(page); }));
}

void RunWriter::on_journal(const Result<journal::JournalPage>& page) {
  SLUICE_CHECK(stage_ == Stage::looking);
  check_stage();
  if (page) return conclude(page.value());
  stage_ = Stage::unknown;
  if (page.error().kind == ErrorKind::overloaded) {
    timer_ = needs_.loop.after({look_again_ms}, [this] { settle(); });
    return;
  }
  // Most conflicts are another server's doing: this one stops rather than continue without knowing.
  if (why_unknown_->kind == ErrorKind::conflict) return host_.on_lost(*why_unknown_);
  if (page.error().kind == ErrorKind::unavailable) return host_.on_unsure(page.error());
  host_.on_lost(page.error());
}

void RunWriter::conclude(const journal::JournalPage& page) {
  const auto& found = page.run;
  const auto& run = record_.run;
  const bool is_renewed =
      renewal_ && found.node == run.node && found.epoch.value == run.epoch.value + 1 && !is_over(found.state);
  if (found.epoch != run.epoch && !is_renewed) return host_.on_lost(carried_elsewhere());
  const auto why = *std::exchange(why_unknown_, nullptr);
  if (renewal_) {
    stage_ = Stage::renewing;
    return on_renewed(is_renewed ? Result(found) : Error{ErrorKind::overloaded, why.what});
  }
  stage_ = Stage::appending;
  // One append is written as a whole or not at all, and only this server writes in this epoch.
  const bool is_written = in_flight_.events.empty() ? in_flight_.state && *in_flight_.state == found.state
                                                    : are_same(page.events, in_flight_.events);
  if (is_written) return on_written(page.events);
  const bool is_strange = !page.events.empty() || (why.kind == ErrorKind::conflict && refusals_ >= conflicts_max);
  if (is_strange) return host_.on_lost({ErrorKind::conflict, "the journal is not as it was: " + why.what});
  repeat(why, false);
}

}  // namespace sluice::engine
