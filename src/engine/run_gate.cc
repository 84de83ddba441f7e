#include "engine/run_gate.h"

#include <algorithm>

#include "base/check.h"
#include "engine/problems.h"
#include "model/event_codec.h"

namespace sluice::engine {

using model::ApprovalStatus;

RunFigures::RunFigures(world::Metrics& metrics)
    : first_event(metrics.histogram("sluice_run_first_event_seconds", "From acceptance to the agent's first event.")),
      resumed(metrics.histogram("sluice_approval_resume_seconds", "From a decision to the event that tells of it.")),
      required(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="required")")),
      approved(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="approved")")),
      denied(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="denied")")),
      expired(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="expired")")) {}

// ── opening ─────────────────────────────────────────────────────────────────────────────────────

void RunGate::raise(dispatch::Gate gate) {
  SLUICE_CHECK(progress_.run().state == RunState::parked);
  const auto& options = needs_.options;
  const auto lifetime = std::min(gate.lifetime_seconds > 0 ? gate.lifetime_seconds : options.approval_seconds,
                                 options.approval_seconds_max);
  auto checkpoint = std::move(gate.checkpoint);
  open_ = std::make_unique<Open>();
  open_->keeps_sandbox = gate.keeps_box;
  open_->approval =
      approval_of(std::move(gate), progress_.run(), needs_.ids.make<model::ApprovalId>(), needs_.clock.now(), lifetime);
  add_records("server", "");
  progress_.add(model::EventKind::checkpoint, std::move(checkpoint));
  progress_.add(model::EventKind::gate, model::to_json(open_->approval));
  watch({lifetime * 1'000});
}

void RunGate::reopen(model::Approval approval, Millis left) {
  SLUICE_CHECK(progress_.run().state == RunState::parked && !open_);
  is_resumable_ = true;
  open_ = std::make_unique<Open>();
  open_->approval = std::move(approval);
  watch(left);
}

void RunGate::watch(Millis left) {
  SLUICE_CHECK(open_ != nullptr);
  open_->expires_us = needs_.loop.monotonic_us() + left.value * 1'000;
  open_->expiry = needs_.loop.after(left, [this] {
    resolve(ApprovalStatus::expired, "expiry", "");
    end(Happening::gate_expired, problem_of(model::Slug::approval_expired, std::string(expired_detail)));
  });
}

// ── a decision ──────────────────────────────────────────────────────────────────────────────────

void RunGate::decide(Decision decision, Callback<void(DecideOutcome)> done) {
  // While the first decision is being written the run is parked no more: a second one has come too late.
  if (!open_ || open_->approval.id != decision.approval) {
    return done(problem_of(model::Slug::approval_expired, "The approval was decided already."));
  }
  // The repetition of a decision that is being written gets the answer of the first one.
  if (open_->decided && is_repeated(open_->approval, decision)) {
    open_->decided = [first = std::move(open_->decided),
                      again = std::move(done)](const DecideOutcome& outcome) mutable {
      first(outcome);
      again(outcome);
    };
    return;
  }
  if (progress_.run().state != RunState::parked) return done(not_open(open_->approval));
  if (decision.approve) {
    if (auto refused = refusal_of_results(open_->approval, decision.answers.results)) return done(*std::move(refused));
  }
  SLUICE_CHECK(open_->approval.status == ApprovalStatus::pending && !open_->decided);
  auto before = std::make_unique<Undecided>(Undecided{open_->approval, progress_.steps()});
  writer_.empty_batch();
  open_->decided = std::move(done);
  open_->decided_us = needs_.loop.monotonic_us();
  open_->approval.note = std::move(decision.note);
  resolve(decision.approve ? ApprovalStatus::approved : ApprovalStatus::denied, std::move(decision.resolved_by),
          std::move(decision.audit_detail));
  writer_.batch().gate->secrets = std::move(decision.secrets);
  add_answers(std::move(decision.answers));
  decision.approve ? approve() : deny();
  auto& batch = writer_.batch();
  SLUICE_CHECK(batch.gate != nullptr && batch.state == progress_.run().state);
  batch.before = std::move(before);
}

// Before `resumed`, or the end: by then the reader of a journal knows which AG-UI run begins.
void RunGate::add_answers(model::GateAnswers answers) {
  if (!answers.agui_run_id && answers.results.empty()) return;
  if (answers.agui_run_id && !answers.agui_thread_id.empty()) {
    const auto& run = progress_.run();
    writer_.batch().gate->agui = {.tenant_id = run.tenant_id,
                                  .thread_id = answers.agui_thread_id,
                                  .run_id = *answers.agui_run_id,
                                  .conversation_id = run.conversation_id,
                                  .run = run.id,
                                  .segment = progress_.resumed_count() + 1};
  }
  progress_.add(model::EventKind::answers, model::to_json(answers));
  open_->results = std::move(answers.results);
}

void RunGate::approve() {
  SLUICE_CHECK(progress_.apply(Happening::approved) == Duty::resume);
  progress_.add(model::EventKind::resumed,
                model::encode(model::events::Resumed{open_->approval.id.text(), "approved"}, {}).body);
  // An agent that waited in its sandbox acts as soon as this is on disk, so its checkpoint is used up. Any other needs
  // a slot first, and uses it up when it has one.
  if (work_.is_active()) progress_.add(model::EventKind::checkpoint, "");
}

void RunGate::deny() {
  std::string detail = "A human did not approve.";
  if (open_->approval.note) detail = "A human did not approve: " + *open_->approval.note;
  end(Happening::denied, problem_of(model::Slug::approval_denied, std::move(detail)));
}

bool RunGate::take_back(RunBatch& refused, const Error& why, bool name_is_taken) {
  // A change of state after the decision cannot be taken back.
  if (!refused.before || writer_.changes_state_later()) return false;
  SLUICE_CHECK(refused.gate && refused.state == progress_.run().state);
  auto decided = reopen_undecided(std::move(*refused.before));
  writer_.write_soon();
  decided(name_is_taken ? name_taken(why, "decided")
                        : unavailable("The store cannot write right now; the approval is still pending."));
  return true;
}

Callback<void(DecideOutcome)> RunGate::reopen_undecided(Undecided before) {
  SLUICE_CHECK(open_ && open_->decided && before.approval.status == ApprovalStatus::pending);
  progress_.return_to_park(std::move(before.steps));
  open_->approval = std::move(before.approval);
  open_->results.clear();
  const auto left_us = std::max<int64_t>(0, open_->expires_us - needs_.loop.monotonic_us());
  watch({(left_us + 999) / 1'000});
  return std::exchange(open_->decided, nullptr);
}

// ── closing ─────────────────────────────────────────────────────────────────────────────────────

void RunGate::resolve(ApprovalStatus status, std::string by, std::string detail) {
  SLUICE_CHECK(status != ApprovalStatus::pending);
  if (!open_ || open_->approval.status != ApprovalStatus::pending) return;
  open_->expiry.cancel();
  auto& approval = open_->approval;
  approval.status = status;
  const auto actor = by == "expiry" || by == "cancel" || by == "failure" ? "server" : by;
  approval.resolved_by = std::move(by);
  approval.resolved_at = approval.updated_at = needs_.clock.now();
  add_records(actor, std::move(detail));
}

void RunGate::add_records(std::string actor, std::string detail) {
  auto* batch = &writer_.batch();
  if (batch->gate) batch = &writer_.empty_batch();
  batch->gate = std::make_unique<GateRecords>(records_of(
      open_->approval, {std::move(actor), std::move(detail), needs_.loop.now()}, needs_.ids.make<model::NoticeId>()));
}

void RunGate::end(Happening what, const model::Problem& problem) {
  SLUICE_CHECK(progress_.apply(what) == Duty::reap);
  progress_.end(model::EventKind::failed, problem, "The run ended at its gate.");
}

void RunGate::on_written(const GateRecords& written) {
  SLUICE_CHECK(written.approval && written.approval->run_id == progress_.run().id);
  const auto status = written.approval->status;
  const bool asks_human = !is_of_client(*written.approval);
  if (status == ApprovalStatus::pending) {
    if (asks_human) needs_.figures.required.add();
    return;
  }
  auto& counter = status == ApprovalStatus::approved ? needs_.figures.approved
                  : status == ApprovalStatus::denied ? needs_.figures.denied
                                                     : needs_.figures.expired;
  if (asks_human) counter.add();
  // An agent that may not have continued yet can still have raised its next gate.
  if (!open_ || open_->approval.id != written.approval->id) return;
  const auto closed = std::move(open_);
  if (work_.is_active()) work_.keep_results(std::move(closed->results));
  if (status == ApprovalStatus::approved && asks_human) {
    needs_.figures.resumed.observe_us(needs_.loop.monotonic_us() - closed->decided_us);
  }
  if (closed->decided) closed->decided(closed->approval);
}

void RunGate::refuse_decision(const Error& why) {
  if (!open_ || !open_->decided) return;
  auto decided = std::exchange(open_->decided, nullptr);
  if (why.kind != ErrorKind::conflict) return decided(problem_of_store(why, "decision"));
  decided(unavailable("The run moved to another server while it was being decided; nothing was decided here."));
}

}  // namespace sluice::engine
