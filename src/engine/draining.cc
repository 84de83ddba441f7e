#include "engine/draining.h"

#include "base/check.h"

namespace sluice::engine {

void Draining::let_go(LiveRun& run) {
  SLUICE_CHECK(has_begun_);
  // A sandbox that was kept for the resumption goes as well; the checkpoint does not.
  if (run.run().state == RunState::parked) admission_.park(run.run().id, false);
  run.let_go(why());
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
