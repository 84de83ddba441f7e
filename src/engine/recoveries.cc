#include "engine/recoveries.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr int64_t look_every_ms = 3'000;
constexpr int64_t wait_us_max = 300'000'000;

}  // namespace

Recoveries::Recoveries(Needs needs)
    : needs_(needs),
      unattended_({*this, needs.recovery.store, needs.recovery.loop, needs.recovery.log, needs.metrics}) {}

void Recoveries::start(Callback<void(Result<Unit>)> done) {
  started_ = std::move(done);
  run();
}

void Recoveries::run() {
  if (needs_.draining.is_closed()) return;
  if (recovery_ == nullptr) recovery_ = std::make_unique<Recovery>(needs_.recovery);
  recovery_->look(Recovery::Scope::own_too, [this](Result<Unit> recovered) {
    if (!recovered && recovered.error().kind == ErrorKind::unavailable) return needs_.outage.begin(recovered.error());
    if (recovered) needs_.outage.on_answer();
    if (recovered) unattended_.start();
    if (started_) std::exchange(started_, nullptr)(std::move(recovered));
  });
}

void Recoveries::look_for_orphans() {
  if (draining_or_silent() || recovery_ == nullptr) return;
  recovery_->look(Recovery::Scope::orphans, [this](const Result<Unit>& recovered) {
    if (!recovered && recovered.error().kind == ErrorKind::unavailable) needs_.outage.begin(recovered.error());
  });
}

void Recoveries::end() {
  since_drop_.begin_anew();
  // Runs that are live already, and were to queue when all are known, queue now.
  if (recovery_ != nullptr) recovery_->hold_again();
  recovery_.reset();
}

void Recoveries::drop() {
  since_drop_.begin_anew();
  recovery_.reset();
}

void Recoveries::carry(const model::Run& run, bool is_late) {
  if (recovery_ == nullptr) return;  // it is recovered with all else of this node
  // The look for all else may have come too early.
  is_late ? recovery_->take(run) : recovery_->adopt(run);
}

void Recoveries::queue_later(LiveRun& run) {
  SLUICE_CHECK(recovery_ != nullptr);
  recovery_->queue_later(run);
}

bool Recoveries::may_look() const {
  return !draining_or_silent() && recovery_ != nullptr && recovery_->is_idle() && needs_.recovery.peers.takes_part();
}

bool Recoveries::attends(model::RunId run) const {
  return needs_.recovery.live.find(run) != nullptr || needs_.recovery.admission.knows(run);
}

void Recoveries::take_up_unattended() { run(); }

// ── runs that nothing attends to ────────────────────────────────────────────────────────────────

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
