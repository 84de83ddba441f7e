// Steps of runs that are to be tried again after a while, because the store could not answer or was busy with the run.
//
// Called from the loop's thread. At most one step a run; a run that is gone by then is not tried again.
#pragma once

#include <unordered_map>

#include "base/check.h"
#include "engine/live_run.h"

namespace sluice::engine {

class Retries final {
 public:
  explicit Retries(world::Loop& loop) : loop_(loop) {}

  void later(LiveRun& run, Millis wait, Callback<void(LiveRun&)> step) {
    auto again = [this, step = std::move(step)](LiveRun& still) mutable {
      const auto timer = timers_.extract(still.run().id);
      SLUICE_CHECK(!timer.empty());
      step(still);
    };
    timers_[run.run().id] = loop_.after(wait, run.ref().guard(std::move(again)));
  }
  void forget_all() { timers_.clear(); }

 private:
  world::Loop& loop_;
  std::unordered_map<model::RunId, world::Timer> timers_;
};

}  // namespace sluice::engine
