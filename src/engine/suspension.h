// What this node's runs do while it is cut off from the store and other nodes may take its runs: nothing. Their work
// stands still where it is, and when the store answers again, each run resumes for itself as soon as it is certain that
// no other node has it and none can take it any more.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "engine/live_runs.h"
#include "world/world.h"

namespace sluice::engine {

class Suspension final {
 public:
  struct Needs {
    const LiveRuns& live;
    world::Loop& loop;
    world::Log& log;
    world::Metrics& metrics;
  };
  explicit Suspension(Needs needs);

  void begin();
  bool is_on() const { return is_on_; }
  // While it is on: work that was about to begin, and does when the run resumes.
  void keep(LiveRun& run, Callback<void(LiveRun&)> begin);
  // The node takes part again: each suspended run resumes once its epoch was renewed.
  void begin_end();
  bool holds(model::RunId run) const { return suspended_.contains(run); }
  // Runs that ended, were lost or dropped are suspended no more.
  void forget(model::RunId run);
  void forget_all();

 private:
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& now;
    world::Counter& total;
  };

  struct Suspended {
    Callback<void(LiveRun&)> begin;  // none: work is there, and stands still
    world::Timer again;              // when to try to resume it
  };
  Suspended& add(LiveRun& run);
  void try_resume(model::RunId run);
  void resume(model::RunId run);
  void count();

  Needs needs_;
  Figures figures_;
  bool is_on_ = false;  // cut off
  int64_t outages_ = 0;
  std::unordered_map<model::RunId, Suspended> suspended_;
};

}  // namespace sluice::engine
