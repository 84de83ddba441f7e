#include "engine/draining.h"

#include "base/check.h"

namespace sluice::engine {

Error Draining::let_go(const model::Run& run) {
  SLUICE_CHECK(has_begun_);
  // A sandbox that was kept for the resumption goes as well; the checkpoint does not.
  if (run.state == model::RunState::parked) admission_.park(run.id, false);
  return why();
}

void Draining::begin(Millis deadline, Callback<void()> done, Callback<void()> too_late) {
  has_begun_ = true;
  admission_.stop();
  done_ = std::move(done);
  deadline_ = loop_.after(deadline, std::move(too_late));
}

Callback<void()> Draining::end() {
  SLUICE_CHECK(has_begun_);
  is_closed_ = true;
  deadline_.cancel();
  return std::exchange(done_, nullptr);
}

}  // namespace sluice::engine
