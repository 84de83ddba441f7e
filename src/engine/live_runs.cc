#include "engine/live_runs.h"

#include "base/check.h"

namespace sluice::engine {

LiveRuns::LiveRuns(world::Loop& loop, world::Metrics& metrics)
    : loop_(loop), count_(metrics.gauge("sluice_runs_live", "Runs that are not over.")) {}

LiveRun* LiveRuns::find(model::RunId run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : found->second.get();
}

LiveRun& LiveRuns::add(std::unique_ptr<LiveRun> run) {
  SLUICE_CHECK(!is_over(run->run().state));
  const auto [at, is_fresh] = runs_.try_emplace(run->run().id, std::move(run));
  SLUICE_CHECK(is_fresh);
  count();
  return *at->second;
}

std::unique_ptr<LiveRun> LiveRuns::take(model::RunId run) {
  auto taken = runs_.extract(run);
  SLUICE_CHECK(!taken.empty());
  count();
  return std::move(taken.mapped());
}

LiveRuns::Map LiveRuns::take_all() {
  auto all = std::exchange(runs_, {});
  count();
  return all;
}

void LiveRuns::flush_later(model::RunId run) {
  dirty_.push_back(run);
  if (dirty_.size() == 1) loop_.defer(lifetime_.guard([this] { flush(); }));
}

void LiveRuns::flush() {
  for (const auto& run : std::exchange(dirty_, {})) {
    auto* live = find(run);
    if (live == nullptr) continue;
    SLUICE_CHECK(live->run().id == run);
    live->writer().flush();
  }
}

}  // namespace sluice::engine
