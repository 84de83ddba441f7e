#include "engine/live_run.h"

#include "base/check.h"
#include "engine/problems.h"

namespace sluice::engine {

LiveRun::LiveRun(const RunNeeds& needs, model::Run run, model::Message message, std::string request_id)
    : needs_(needs),
      progress_(needs, writer_, std::move(run), std::move(message), std::move(request_id)),
      writer_(*this, needs, progress_.record(), lifetime_),
      gate_(needs, progress_, writer_, work_),
      work_(lifetime_),
      audiences_(lifetime_),
      cancelling_(needs.loop, progress_, work_) {}

void LiveRun::keep_opening(journal::CommittedBatch opening) {
  SLUICE_CHECK(!opening.empty() && opening.back().position() == run().head);
  writer_.remember_time(opening.back().event().at);
  audiences_.keep_opening(std::move(opening));
}

// ── its lifecycle ───────────────────────────────────────────────────────────────────────────────

void LiveRun::perform(Duty duty) {
  const auto state = run().state;
  SLUICE_CHECK(belongs_to(duty, state));
  switch (duty) {
    case Duty::none: return;
    case Duty::admit: return needs_.duties.admit(*this);
    // A cancel, or an end, that came while this was being written has a duty of its own.
    case Duty::launch: return state == RunState::streaming ? needs_.duties.launch(*this) : void();
    case Duty::resume: return state == RunState::streaming ? needs_.duties.resume(*this) : void();
    case Duty::park: return settle_in_park();
    case Duty::interrupt: return cancelling_.interrupt();
    case Duty::reap: return finish();
  }
}

void LiveRun::restart() {
  const auto duty = progress_.apply(Happening::server_restarted);
  SLUICE_CHECK(duty.has_value() && !writer_.changes_state_later());
  perform(*duty);
}

void LiveRun::on_written(const RunBatch& batch, const journal::CommittedBatch& events) {
  for (const auto& committed : events) note_written(committed.event());
  const auto watch = lifetime_.watch();
  audiences_.send(events);
  if (watch.is_over()) return;
  work_.acknowledge(batch.events);
  if (batch.gate) {
    if (!batch.gate->notices.empty()) needs_.owner.on_notice();
    gate_.on_written(*batch.gate);
    if (watch.is_over()) return;
  }
  perform(batch.duty);
}

void LiveRun::note_written(const model::RunEvent& event) {
  progress_.note_written(event);
  using enum model::EventKind;
  if (agent_reported_ || event.kind == queued || event.kind == started || event.kind == mark) return;
  agent_reported_ = true;
  needs_.figures.first_event.observe_us(needs_.loop.monotonic_us() - progress_.accepted_us());
}

bool LiveRun::undo(RunBatch& refused, const Error& why, bool name_is_taken) {
  return !cancelling_.is_wanted() && gate_.take_back(refused, why, name_is_taken);
}

// ── while it is held ────────────────────────────────────────────────────────────────────────────

bool LiveRun::report_position(Place place) {
  if (run().state != RunState::held) return false;
  progress_.add(model::EventKind::queued, body_of(place));
  return true;
}

void LiveRun::start() {
  SLUICE_CHECK(work_.launch() != nullptr);
  SLUICE_CHECK(progress_.apply(Happening::slot_freed) == Duty::launch);
  progress_.add(model::EventKind::started, work_.launch()->started_body);
}

void LiveRun::end_hold() {
  if (!progress_.apply(Happening::hold_expired)) return;
  const auto seconds = std::to_string(needs_.options.max_hold_seconds);
  progress_.end(model::EventKind::failed,
                problem_of(model::Slug::capacity_exhausted, "No slot became free within " + seconds + " seconds."),
                "The run never started.");
}

// ── while it is worked on ───────────────────────────────────────────────────────────────────────

void LiveRun::begin_work(std::unique_ptr<dispatch::Work> work) {
  SLUICE_CHECK(run().state == RunState::streaming);
  work_.begin(std::move(work));
  gate_.note_work();
  work_.hold_back(writer_.is_full());
}

void LiveRun::resume_work() {
  gate_.note_work();
  work_.resume();
}

void LiveRun::on_finished(model::Usage usage) {
  if (is_over(run().state)) return;
  const auto duty = progress_.apply(Happening::result);
  if (!duty) return on_failed({.detail = "The agent ended while it was to wait for a human."});
  if (*duty != Duty::reap) return;  // it is being stopped, and ends with the proof of that
  progress_.complete(usage);
}

void LiveRun::on_failed(model::Problem problem) {
  if (is_over(run().state)) return;
  if (run().state == RunState::parked) gate_.close("failure");
  if (progress_.apply(Happening::error) != Duty::reap) return;  // it is being stopped, and ends with the proof of that
  progress_.end(model::EventKind::failed, problem, "The run ended before the tool call did.");
}

void LiveRun::on_gate(dispatch::Gate gate) {
  work_.pause_at_gate(gate.keeps_box);
  gate_.note_checkpoint();
  if (!progress_.apply(Happening::gate_raised)) return;  // it is being cancelled; what was kept goes with its end
  gate_.raise(std::move(gate));
}

void LiveRun::cancel(Cancelling::Asker done) {
  cancelling_.add(std::move(done));
  if (is_over(run().state)) return;  // its end is being written, and answers the caller
  gate_.close("cancel");
  cancelling_.begin();
  writer_.write_soon();
}

// Nothing works on the run, and perhaps nothing reads it, for as long as a human takes.
void LiveRun::settle_in_park() {
  const bool keeps_sandbox = gate_.keeps_sandbox();
  if (!keeps_sandbox) {
    work_.drop();
    work_.forget_secrets();
  }
  audiences_.drop_opening();
  writer_.shrink();
  progress_.shrink();
  needs_.duties.park(*this, keeps_sandbox);
}

// ── its end ─────────────────────────────────────────────────────────────────────────────────────

void LiveRun::finish() {
  SLUICE_CHECK(is_over(run().state) && run().ended_at);
  work_.drop();
  const auto watch = lifetime_.watch();
  audiences_.end();
  cancelling_.answer(run());
  SLUICE_CHECK(!watch.is_over());
  needs_.owner.on_over(*this);
}

void LiveRun::let_go(const Error& why) {
  work_.drop();
  work_.forget_secrets();
  audiences_.lose(why);
}

void LiveRun::abandon(const Error& why) {
  let_go(why);
  refuse_requests(why);
}

std::vector<Ref<EndWaiter>> LiveRun::hand_over(const Error& why) {
  work_.drop();
  auto waiters = audiences_.hand_over();
  refuse_requests(why);
  return waiters;
}

void LiveRun::refuse_requests(const Error& why) {
  writer_.stop();
  cancelling_.answer(why);
  gate_.refuse_decision(why);
}

}  // namespace sluice::engine
