// A run at its gate: raised by whoever works, closed by a human, by time, or by the run's end.
#include <algorithm>

#include "base/check.h"
#include "engine/live_run.h"
#include "engine/problems.h"

namespace sluice::engine {

using model::ApprovalStatus;

LiveRun::Figures::Figures(world::Metrics& metrics)
    : first_event(metrics.histogram("sluice_run_first_event_seconds", "From acceptance to the agent's first event.")),
      resumed(metrics.histogram("sluice_approval_resume_seconds", "From a decision to the event that tells of it.")),
      required(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="required")")),
      approved(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="approved")")),
      denied(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="denied")")),
      expired(metrics.counter("sluice_approvals_total", "Approvals, by what became of them.", R"(status="expired")")) {}

void LiveRun::on_gate(dispatch::Gate gate) {
  work_over_ = !gate.keeps_box;
  at_gate_ = true;
  if (!happen(Happening::gate_raised).has_value()) return;  // it is being cancelled; what was kept goes with its end
  const auto& options = needs_.options;
  const auto lifetime = std::min(gate.lifetime_seconds > 0 ? gate.lifetime_seconds : options.approval_seconds,
                                 options.approval_seconds_max);
  auto checkpoint = std::move(gate.checkpoint);
  gate_ = std::make_unique<OpenGate>();
  gate_->keeps_box = gate.keeps_box;
  gate_->approval =
      approval_of(std::move(gate), run_, needs_.ids.make<model::ApprovalId>(), needs_.clock.now(), lifetime);
  add_records("server", "");
  add(model::EventKind::checkpoint, std::move(checkpoint));
  add(model::EventKind::gate, model::to_json(gate_->approval));
  watch_gate({lifetime * 1'000});
}

void LiveRun::reopen_gate(model::Approval approval, Millis left) {
  SLUICE_CHECK(run_.state == RunState::parked);
  at_gate_ = true;
  gate_ = std::make_unique<OpenGate>();
  gate_->approval = std::move(approval);
  watch_gate(left);
}

void LiveRun::watch_gate(Millis left) {
  gate_->expires_us = needs_.loop.monotonic_us() + left.value * 1'000;
  gate_->expiry = needs_.loop.after(left, [this] {
    resolve_gate(ApprovalStatus::expired, "expiry");
    end_at_gate(Happening::gate_expired,
                problem_of(model::Slug::approval_expired, "Nobody decided before the approval's time was over."));
  });
}

void LiveRun::decide(Decision decision, Callback<void(DecideOutcome)> done) {
  // While the first decision is being written the run is parked no more: a second one has come too late.
  if (!gate_ || gate_->approval.id != decision.approval) {
    return done(problem_of(model::Slug::approval_expired, "The approval was decided already."));
  }
  // Whoever asks again while it is being written hears what the first one hears.
  if (gate_->decided && is_repeated(gate_->approval, decision)) {
    gate_->decided = [first = std::move(gate_->decided),
                      again = std::move(done)](const DecideOutcome& outcome) mutable {
      first(outcome);
      again(outcome);
    };
    return;
  }
  if (run_.state != RunState::parked) return done(not_open(gate_->approval));
  if (decision.approve) {
    if (auto refused = refusal_of_results(gate_->approval, decision.answers.results)) return done(*std::move(refused));
  }
  auto before = std::make_unique<Undecided>(Undecided{gate_->approval, steps_});
  pending_.emplace_back();
  gate_->decided = std::move(done);
  gate_->decided_us = needs_.loop.monotonic_us();
  gate_->approval.note = std::move(decision.note);
  resolve_gate(decision.approve ? ApprovalStatus::approved : ApprovalStatus::denied, std::move(decision.resolved_by),
               std::move(decision.audit_detail));
  batch().gate->secrets = std::move(decision.secrets);
  add_answers(std::move(decision.answers));
  decision.approve ? resume() : end_denied();
  pending_.back().before = std::move(before);
}

// Before `resumed`, or the end: whoever reads the journal knows then which AG-UI run it is that begins.
void LiveRun::add_answers(model::GateAnswers answers) {
  if (!answers.agui_run_id && answers.results.empty()) return;
  if (answers.agui_run_id && !answers.agui_thread_id.empty()) {
    batch().gate->agui = {.tenant_id = run_.tenant_id,
                          .thread_id = answers.agui_thread_id,
                          .run_id = *answers.agui_run_id,
                          .conversation_id = run_.conversation_id,
                          .run = run_.id,
                          .segment = resumed_count_ + 1};
  }
  add(model::EventKind::answers, model::to_json(answers));
  gate_->results = std::move(answers.results);
}

void LiveRun::end_denied() {
  std::string detail = "A human did not approve.";
  if (gate_->approval.note) detail = "A human did not approve: " + *gate_->approval.note;
  end_at_gate(Happening::denied, problem_of(model::Slug::approval_denied, std::move(detail)));
}

void LiveRun::resume() {
  SLUICE_CHECK(happen(Happening::approved) == Duty::resume);
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("approval_id").string(gate_->approval.id.text());
  writer.key("decision").string("approved").end_object();
  add(model::EventKind::resumed, std::move(body));
  // Whoever waited in its box acts as soon as this is on disk; whoever needs a slot first is marked when it has one.
  if (has_work()) add(model::EventKind::checkpoint, "");
}

// Unless something that cannot be taken back has come after it.
bool LiveRun::can_take_back(const Batch& refused) const {
  const auto moves_on = [](const Batch& later) { return later.state.has_value(); };
  return refused.before && !cancelling_.is_wanted() && std::ranges::none_of(pending_, moves_on);
}

Callback<void(DecideOutcome)> LiveRun::take_back(Undecided before) {
  run_.state = RunState::parked;  // as it still is on disk
  message_.status = model::message_status(run_.state);
  steps_ = std::move(before.steps);
  problem_name_ = {};
  gate_->approval = std::move(before.approval);
  gate_->results.clear();
  const auto left_us = std::max<int64_t>(0, gate_->expires_us - needs_.loop.monotonic_us());
  watch_gate({(left_us + 999) / 1'000});
  return std::exchange(gate_->decided, nullptr);
}

// Nothing, unless somebody is being asked.
void LiveRun::resolve_gate(ApprovalStatus status, std::string by, std::string detail) {
  if (!gate_ || gate_->approval.status != ApprovalStatus::pending) return;
  gate_->expiry.cancel();
  auto& approval = gate_->approval;
  approval.status = status;
  const auto actor = by == "expiry" || by == "cancel" || by == "failure" ? "server" : by;
  approval.resolved_by = std::move(by);
  approval.resolved_at = approval.updated_at = needs_.clock.now();
  add_records(actor, std::move(detail));
}

void LiveRun::add_records(std::string actor, std::string detail) {
  if (batch().gate) pending_.emplace_back();
  batch().gate = std::make_unique<GateRecords>(records_of(
      gate_->approval, {std::move(actor), std::move(detail), needs_.loop.now()}, needs_.ids.make<model::NoticeId>()));
}

void LiveRun::end_at_gate(Happening what, const model::Problem& problem) {
  SLUICE_CHECK(happen(what) == Duty::reap);
  close_steps("The run ended at its gate.");
  add(model::EventKind::failed, problem_json(problem));
}

void LiveRun::on_gate_written(const GateRecords& written) {
  if (!written.notices.empty()) needs_.owner.on_notice();
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
  const auto closed = std::move(gate_);
  if (has_work()) results_ = std::move(closed->results);
  if (status == ApprovalStatus::approved && asks_human) {
    needs_.figures.resumed.observe_us(needs_.loop.monotonic_us() - closed->decided_us);
  }
  if (closed->decided) closed->decided(closed->approval);
}

// Nobody works on it, and perhaps nobody reads it, for as long as a human takes.
void LiveRun::settle_in_park() {
  const bool keeps_box = gate_ && gate_->keeps_box;
  if (!keeps_box) {
    work_.reset();
    secrets_.reset();
  }
  journal::CommittedBatch().swap(opening_);
  pending_.shrink_to_fit();
  message_.content.shrink_to_fit();
  needs_.duties.park(*this, keeps_box);
}

void LiveRun::go_on() {
  SLUICE_CHECK(has_work());
  at_gate_ = false;
  work_->go_on(std::exchange(results_, {}));
}

}  // namespace sluice::engine
