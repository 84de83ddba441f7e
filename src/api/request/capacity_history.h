// Samples of the server's load within the last hour, for charts. They are in memory only, so a restart loses them. Used
// on the loop's thread.
#pragma once

#include <deque>

#include "engine/engine.h"
#include "world/world.h"

namespace sluice::api {

class CapacityHistory final {
 public:
  static constexpr Millis interval{5'000};
  static constexpr std::size_t samples_max = 720;

  struct Sample {
    Timestamp at;
    engine::Capacity capacity;
  };

  CapacityHistory(world::Loop& loop, engine::Engine& engine) : loop_(loop), engine_(engine) { wait(); }
  CapacityHistory(const CapacityHistory&) = delete;
  CapacityHistory& operator=(const CapacityHistory&) = delete;

  const std::deque<Sample>& samples() const { return samples_; }

 private:
  void wait() {
    timer_ = loop_.after(interval, [this] { take(); });
  }
  void take() {
    if (samples_.size() == samples_max) samples_.pop_front();
    samples_.push_back({loop_.now(), engine_.capacity()});
    wait();
  }

  world::Loop& loop_;
  engine::Engine& engine_;
  std::deque<Sample> samples_;
  world::Timer timer_;
};

}  // namespace sluice::api
