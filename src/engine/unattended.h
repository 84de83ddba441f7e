// The promise that no run is forgotten: every run that is not over and whose row names this node is live here, is being
// taken up, or is being accepted, and none names a node that has gone. Faults may break it (a commit that becomes
// visible late, an answer that is lost), so every few seconds the store is asked which runs these are. One that nothing
// attends to at two looks in a row is taken up as after a restart.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/lifetime.h"
#include "store/store.h"

namespace sluice::engine {

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

}  // namespace sluice::engine
