#include "engine/run_work.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {

void RunWork::begin(std::unique_ptr<dispatch::Work> work) {
  SLUICE_CHECK(!is_active() && work != nullptr);
  work_ = std::move(work);
  phase_ = Phase::working;
  is_held_back_ = false;
}

void RunWork::suspend(bool is_suspended) {
  if (is_active()) work_->suspend(is_suspended);
}

void RunWork::hold_back(bool is_full) {
  SLUICE_CHECK((work_ == nullptr) == (phase_ == Phase::none));
  const bool is_needed = is_full && is_active();
  if (std::exchange(is_held_back_, is_needed) != is_needed && is_active()) work_->hold_back(is_needed);
}

void RunWork::acknowledge(const std::vector<model::RunEvent>& written) {
  if (phase_ == Phase::none) return;
  const auto last = std::ranges::find(written.rbegin(), written.rend(), model::EventKind::mark, &model::RunEvent::kind);
  if (last != written.rend() && !last->body.empty()) work_->written(last->body);
}

void RunWork::pause_at_gate(bool keeps_sandbox) {
  if (phase_ != Phase::none && !keeps_sandbox) phase_ = Phase::silent;
}

void RunWork::resume() {
  SLUICE_CHECK(is_active());
  work_->go_on(std::exchange(results_, {}));
}

void RunWork::stop(Callback<void()> stopped) {
  SLUICE_CHECK(is_active());
  if (std::exchange(phase_, Phase::stopping) == Phase::stopping) return;
  work_->stop(lifetime_.guard(std::move(stopped)));
}

void RunWork::drop() {
  phase_ = Phase::none;
  work_.reset();
}

}  // namespace sluice::engine
