#include "engine/recoveries.h"

#include <utility>

#include "base/check.h"

namespace sluice::engine {

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

}  // namespace sluice::engine
