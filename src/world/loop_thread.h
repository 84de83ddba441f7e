// The thread that a loop runs on, and the check that a loop and its timers are used on no other: they have no lock, so
// a call from another thread would corrupt them without a trace. While the loop does not run, any thread may prepare it
// or destroy what belongs to it.
#pragma once

#include <atomic>
#include <thread>

#include "base/check.h"

namespace sluice::world {

class LoopThread final {
 public:
  void begin() { id_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
  void end() { id_.store({}, std::memory_order_relaxed); }
  void check() const { SLUICE_CHECK(is_free_for_this_thread()); }

 private:
  bool is_free_for_this_thread() const {
    const auto id = id_.load(std::memory_order_relaxed);
    return id == std::thread::id() || id == std::this_thread::get_id();
  }

  std::atomic<std::thread::id> id_;  // atomic because a call from the wrong thread reads it too
};

}  // namespace sluice::world
