// A run at its gate: the approval that its agent asked for, until a human, the time or the run's end closes it.
//
// A decision is written in an append of its own. Until the store has answered, the same decision may be repeated and
// any other comes too late; if the disk is full, the decision is taken back and the gate is open again.
//
// Called from the loop's thread. Who may decide has been verified before; which decision is the first, the store says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/run_progress.h"
#include "engine/run_work.h"

namespace sluice::engine {

class RunGate final {
 public:
  RunGate(const RunNeeds& needs, RunProgress& progress, RunWriter& writer, RunWork& work)
      : needs_(needs), progress_(progress), writer_(writer), work_(work) {}

  void raise(dispatch::Gate gate);
  // After a restart: the approval is in the store, and expires in so much time.
  void reopen(model::Approval approval, Millis left);
  bool waits_for(model::ApprovalId id) const { return open_ && open_->approval.id == id; }
  const model::Approval* approval() const { return open_ ? &open_->approval : nullptr; }  // null: no gate
  bool keeps_sandbox() const { return open_ && open_->keeps_sandbox; }

  // From a gate, or its checkpoint, until the run is worked on again: what was kept for the resumption may be there.
  bool is_resumable() const { return is_resumable_; }
  void note_checkpoint() { is_resumable_ = true; }
  void note_work() { is_resumable_ = false; }

  void decide(Decision decision, Callback<void(DecideOutcome)> done);
  // The run ends, and its gate with it; nothing, if the gate is not open.
  void close(std::string by) { resolve(model::ApprovalStatus::expired, std::move(by), ""); }
  // The store certainly did not write the batch. True: it was a decision, which is taken back and refused.
  bool take_back(RunBatch& refused, const Error& why, bool name_is_taken);
  // The run may be gone when this returns.
  void on_written(const GateRecords& written);
  // The run is not this server's any more: a decision that is being written gets its answer.
  void refuse_decision(const Error& why);

 private:
  // While the approval is pending, the timer `expiry` runs. Once it is resolved, `decided` is set for as long as a
  // decision is being written; a gate that closed with its run never has it.
  struct Open {
    model::Approval approval;
    bool keeps_sandbox = false;
    world::Timer expiry;
    int64_t expires_us = 0;
    Callback<void(DecideOutcome)> decided;
    int64_t decided_us = 0;
    std::vector<model::ClientResult> results;  // that came with the decision
  };

  void watch(Millis left);
  void resolve(model::ApprovalStatus status, std::string by, std::string detail);
  void add_records(std::string actor, std::string detail);
  void add_answers(model::GateAnswers answers);
  void approve();
  void deny();
  void end(Happening what, const model::Problem& problem);
  Callback<void(DecideOutcome)> reopen_undecided(Undecided before);

  const RunNeeds& needs_;
  RunProgress& progress_;
  RunWriter& writer_;
  RunWork& work_;
  std::unique_ptr<Open> open_;
  bool is_resumable_ = false;
};

}  // namespace sluice::engine
