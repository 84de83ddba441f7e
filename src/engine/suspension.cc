#include "engine/suspension.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr Millis try_again{50};

}  // namespace

Suspension::Figures::Figures(world::Metrics& metrics)
    : now(metrics.gauge("sluice_runs_suspended", "Runs whose work stands still because the store is out of reach.")),
      total(metrics.counter("sluice_runs_suspended_total",
                            "Runs whose work was suspended because the store was out of reach.")) {}

Suspension::Suspension(Needs needs) : needs_(std::move(needs)), figures_(needs_.metrics) {}

void Suspension::begin() {
  is_on_ = true;
  ++outages_;
  for (const auto& [id, run] : needs_.live.all()) {
    if (!run->work().is_active()) continue;
    add(*run);
    run->work().suspend(true);
  }
  needs_.log.write(world::LogLevel::warn, "runs suspended", {{"count", static_cast<int64_t>(suspended_.size())}});
}

void Suspension::keep(LiveRun& run, Callback<void(LiveRun&)> begin) {
  SLUICE_CHECK(is_on_ && !run.work().is_active());
  add(run).begin = std::move(begin);
}

Suspension::Suspended& Suspension::add(LiveRun& run) {
  const auto [at, is_fresh] = suspended_.try_emplace(run.run().id);
  at->second.again.cancel();
  if (is_fresh) {
    figures_.total.add();
    count();
  }
  return at->second;
}

void Suspension::begin_end() {
  if (!std::exchange(is_on_, false)) return;
  std::vector<model::RunId> all;
  for (const auto& [id, suspended] : suspended_) all.push_back(id);
  for (const auto& id : all) try_resume(id);
}

// The epoch is raised rather than read: another node may be about to take the run, because it saw no beat for long
// enough, and is refused then. A renewal from before another outage proves nothing: another node may have taken the run
// since.
void Suspension::try_resume(model::RunId run) {
  auto* live = needs_.live.find(run);
  if (live == nullptr || is_on_) return;
  const bool is_asked = live->writer().renew([this, run, outage = outages_] {
    if (!is_on_ && suspended_.contains(run)) outage == outages_ ? resume(run) : try_resume(run);
  });
  if (is_asked) return;
  // Something of it is being written, or it is not known whether that was.
  suspended_[run].again = needs_.loop.after(try_again, [this, run] { try_resume(run); });
}

void Suspension::resume(model::RunId run) {
  SLUICE_CHECK(suspended_.contains(run));
  auto begin = std::move(suspended_[run].begin);
  forget(run);
  if (suspended_.empty()) needs_.log.write(world::LogLevel::info, "runs resumed", {});
  auto* live = needs_.live.find(run);
  if (live == nullptr) return;
  begin ? begin(*live) : live->work().suspend(false);
}

void Suspension::forget(model::RunId run) {
  if (suspended_.erase(run) > 0) count();
}

void Suspension::forget_all() {
  suspended_.clear();
  count();
}

void Suspension::count() { figures_.now.set(static_cast<int64_t>(suspended_.size())); }

}  // namespace sluice::engine
