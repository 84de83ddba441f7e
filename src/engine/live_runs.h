// The runs that are live on this node: each is in this map exactly once, from its acceptance or its recovery until it
// is over or another node has it. What they have to write is flushed at the end of the loop's turn.
//
// Called from the loop's thread. It decides nothing about a run; see LiveRun for that.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/lifetime.h"
#include "engine/live_run.h"

namespace sluice::engine {

class LiveRuns final {
 public:
  using Map = std::unordered_map<model::RunId, std::unique_ptr<LiveRun>>;

  LiveRuns(world::Loop& loop, world::Metrics& metrics);

  // Null: the run is not live here.
  LiveRun* find(model::RunId run) const;
  LiveRun& add(std::unique_ptr<LiveRun> run);
  std::unique_ptr<LiveRun> take(model::RunId run);
  Map take_all();
  const Map& all() const { return runs_; }
  void flush_later(model::RunId run);

 private:
  void flush();
  void count() { count_.set(static_cast<int64_t>(runs_.size())); }

  world::Loop& loop_;
  world::Gauge& count_;
  Map runs_;
  std::vector<model::RunId> dirty_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
