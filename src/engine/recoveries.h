// When runs are looked for: at the start of the server, when the store or the other nodes answer again, when a node
// died or left, and when a run was found that nothing attends to. There is one Recovery at a time, and none between the
// begin of an outage of the store and its end.
//
// Called from the loop's thread. How a run is recovered is Recovery's business.
#pragma once

#include <memory>

#include "engine/draining.h"
#include "engine/recovery.h"
#include "engine/store_outage.h"
#include "engine/unattended.h"

namespace sluice::engine {

class Recoveries final : private UnattendedRuns::Host {
 public:
  struct Needs {
    Recovery::Needs recovery;
    StoreOutage& outage;
    const Draining& draining;
    world::Metrics& metrics;
  };
  explicit Recoveries(Needs needs);

  // The first look, at the start of the server.
  void start(Callback<void(Result<Unit>)> done);
  // Looks for all runs that no living node carries, and for those of this node that are not live.
  void run();
  void look_for_orphans();
  // What is being recovered is looked for anew by the next run().
  void end();
  // The same, and nothing of it is kept: all live runs are dropped.
  void drop();
  // Begins anew whenever all runs are looked for anew.
  const Lifetime& since_drop() const { return since_drop_; }

  // None is being looked for, so runs that wait on other nodes may be claimed.
  bool may_claim() const { return recovery_ != nullptr && !recovery_->is_looking(); }
  // Another node may hand over a run.
  bool may_take() const { return !draining_or_silent() && recovery_ != nullptr; }
  // The run is this node's now. `is_late`: everything was dropped since it was asked for.
  void carry(const model::Run& run, bool is_late);
  void queue_later(LiveRun& run);

 private:
  bool may_look() const override;
  bool attends(model::RunId run) const override;
  void take_up_unattended() override;
  bool draining_or_silent() const { return needs_.draining.has_begun() || needs_.outage.is_on(); }

  Needs needs_;
  Lifetime since_drop_;
  UnattendedRuns unattended_;
  std::unique_ptr<Recovery> recovery_;
  Callback<void(Result<Unit>)> started_;  // waits for the first look
};

}  // namespace sluice::engine
