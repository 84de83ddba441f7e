// When runs are looked for: at the start of the server, when the store or the other nodes answer again, when a node
// died or left, and when a run was found that nothing attends to. There is one Recovery at a time, and none between the
// begin of an outage of the store and its end.
//
// Called from the loop's thread. How a run is recovered is Recovery's business.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/draining.h"
#include "engine/recovery.h"
#include "engine/store_outage.h"

namespace sluice::engine {

// The promise that no run is forgotten: every run that is not over and whose row names this node is live here, is being
// taken up, or is being accepted, and none names a node that has gone. Faults may break it (a commit that becomes
// visible late, an answer that is lost), so every few seconds the store is asked which runs these are. One that nothing
// attends to at two looks in a row is taken up as after a restart.
class UnattendedRuns final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // False while runs are being taken up, or none may be: then no look is made.
    virtual bool may_look() const = 0;
    virtual bool attends(model::RunId run) const = 0;
    virtual void take_up_unattended() = 0;
  };
  struct Needs {
    Host& host;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
    world::Metrics& metrics;
  };
  explicit UnattendedRuns(Needs needs);
  UnattendedRuns(const UnattendedRuns&) = delete;
  UnattendedRuns& operator=(const UnattendedRuns&) = delete;

  // From now on it looks. Nothing the second time.
  void start();

 private:
  // One that was not attended to at the last look.
  struct Missed {
    int64_t due_us = 0;   // when it is to be taken up
    int64_t wait_us = 0;  // until the time after that: one that cannot be taken up is not tried at each look
    bool is_known = false;
  };
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& unattended;
    world::Counter& found;
  };

  void look();
  void on_carried(const std::vector<model::RunId>& carried);

  Needs needs_;
  Figures figures_;
  std::unordered_map<model::RunId, Missed> missed_;
  bool started_ = false;
  world::Timer timer_;
  Lifetime lifetime_;
};

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
