// What time it is by the store's clock, which all servers that share the store read alike: by it one of them writes
// down when an approval expires and since when a run waits, and by it another one judges that when it takes the run
// over. Between two answers of the store the time is counted by the clock of this server that never jumps.
#pragma once

#include "world/world.h"

namespace sluice::engine {

class StoreClock final {
 public:
  explicit StoreClock(const world::Loop& loop) : loop_(loop) {}

  void hear(Timestamp now) {
    heard_ms_ = now.ms;
    heard_us_ = loop_.monotonic_us();
  }
  // Before the store has said its time, and where this server is the only one, its wall clock is all there is.
  Timestamp now() const {
    if (heard_ms_ == 0) return loop_.now();
    return {heard_ms_ + (loop_.monotonic_us() - heard_us_) / 1'000};
  }

 private:
  const world::Loop& loop_;
  int64_t heard_ms_ = 0;
  int64_t heard_us_ = 0;
};

}  // namespace sluice::engine
