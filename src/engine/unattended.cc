#include "engine/unattended.h"

#include <algorithm>

namespace sluice::engine {
namespace {

constexpr int64_t look_every_ms = 3'000;
constexpr int64_t wait_us_max = 300'000'000;

}  // namespace

UnattendedRuns::Figures::Figures(world::Metrics& metrics)
    : unattended(metrics.gauge(
          "sluice_runs_unattended",
          "Runs of this server, or of servers that are gone, that nothing attends to, as of the last look; "
          "0 is as it should be.")),
      found(metrics.counter("sluice_runs_unattended_total",
                            "Runs of this server, or of servers that are gone, that nothing attended to, and that were "
                            "taken up for that.")) {}

UnattendedRuns::UnattendedRuns(Needs needs) : needs_(needs), figures_(needs.metrics) {}

void UnattendedRuns::start() {
  if (std::exchange(started_, true)) return;
  timer_ = needs_.loop.after({look_every_ms}, [this] { look(); });
}

void UnattendedRuns::look() {
  timer_ = needs_.loop.after({look_every_ms}, [this] { look(); });
  if (!needs_.host.may_look()) return;
  needs_.store.carried_runs(lifetime_.guard([this](const Result<std::vector<model::RunId>>& carried) {
    if (carried) on_carried(carried.value());
  }));
}

void UnattendedRuns::on_carried(const std::vector<model::RunId>& carried) {
  if (!needs_.host.may_look()) return;
  const auto now_us = needs_.loop.monotonic_us();
  auto before = std::exchange(missed_, {});
  int64_t unattended = 0;
  bool is_due = false;
  for (const auto run : carried) {
    if (needs_.host.attends(run)) continue;
    const auto known = before.find(run);
    auto& missed = missed_[run];
    if (known == before.end()) {
      missed.wait_us = look_every_ms * 1'000;
      continue;  // perhaps its acceptance is on its way
    }
    missed = known->second;
    ++unattended;
    if (!std::exchange(missed.is_known, true)) {
      figures_.found.add();
      needs_.log.write(world::LogLevel::warn, "run was unattended", {{"run", run.text()}});
    }
    if (now_us < missed.due_us) continue;
    missed.wait_us = std::min(wait_us_max, missed.wait_us * 2);
    missed.due_us = now_us + missed.wait_us;
    is_due = true;
  }
  figures_.unattended.set(unattended);
  if (is_due) needs_.host.take_up_unattended();
}

}  // namespace sluice::engine
