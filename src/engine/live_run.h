// One run that is not over, in memory. It joins the parts of a run: what has been decided (RunProgress) is written
// (RunWriter), and only then sent to its followers (Audiences) and acted on (perform()). Its work (RunWork), its gate
// (RunGate) and its cancel (Cancelling) each keep a state of their own.
//
// All of it is a fold of the journal and of what is not written yet: dropping a LiveRun loses nothing that a client has
// received. While the run waits for a human, little of it is left, because there may be ten thousand such runs.
//
// Called from the loop's thread. Which runs are live, LiveRuns knows.
#pragma once

#include <string>
#include <vector>

#include "engine/audiences.h"
#include "engine/cancelling.h"
#include "engine/run_gate.h"

namespace sluice::engine {

class LiveRun final : public dispatch::DispatchListener, private RunWriter::Host {
 public:
  // `message` is the assistant message as the journal makes it so far.
  LiveRun(const RunNeeds& needs, model::Run run, model::Message message, std::string request_id);

  const model::Run& run() const { return progress_.run(); }
  Ref<LiveRun> ref() { return lifetime_.ref(*this); }
  RunProgress& progress() { return progress_; }
  RunWriter& writer() { return writer_; }
  RunWork& work() { return work_; }
  RunGate& gate() { return gate_; }
  Audiences& audiences() { return audiences_; }

  // The first events of a run that was accepted just now.
  void keep_opening(journal::CommittedBatch opening);

  // ── its lifecycle ──
  // Does what is due in the run's state, which is on disk: the only way to launch, resume, park, stop or end a run.
  void perform(Duty duty);
  // The run was read from the store after a restart: repeats the duty of its state.
  void restart();

  // ── while it is held ──
  bool report_position(Place place);  // false: it is not held any more
  void start();
  void end_hold();

  // ── while it is worked on ──
  void begin_work(std::unique_ptr<dispatch::Work> work);
  void resume_work();
  void fail(model::Problem problem) { on_failed(std::move(problem)); }
  void cancel(Cancelling::Asker done);

  // ── when it leaves this node ──
  // The run waits, and not for this server any more: its work, readers and waiters are let go.
  void let_go(const Error& why);
  // Nothing more will be written here: followers, and requests that wait, get this error.
  void abandon(const Error& why);
  // The same, but another node continues the run: its readers read on alone, and its waiters are returned.
  std::vector<Ref<EndWaiter>> hand_over(const Error& why);

  void on_event(model::RunEvent event) override { progress_.report(std::move(event)); }
  void on_finished(model::Usage usage) override;
  void on_failed(model::Problem problem) override;
  void on_gate(dispatch::Gate gate) override;

 private:
  void on_dirty() override { needs_.owner.on_dirty(run().id); }
  void on_backlog(bool is_full) override { work_.hold_back(is_full); }
  void on_written(const RunBatch& batch, const journal::CommittedBatch& events) override;
  bool undo(RunBatch& refused, const Error& why, bool name_is_taken) override;
  void on_unsure(const Error& why) override { needs_.owner.on_unsure(*this, why); }
  void on_sure() override { needs_.owner.on_sure(); }
  void on_lost(const Error& why) override { needs_.owner.on_lost(*this, why); }

  void note_written(const model::RunEvent& event);
  void settle_in_park();
  void finish();
  void refuse_requests(const Error& why);

  const RunNeeds& needs_;
  RunProgress progress_;
  RunWriter writer_;
  RunGate gate_;
  RunWork work_;
  Audiences audiences_;
  Cancelling cancelling_;
  bool agent_reported_ = false;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
