// Runs the operations of a queue: a thread of its own or, in tests and the simulation, the thread that submits them, so
// that a simulated story has one thread and one order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/callback.h"

namespace sluice::store {

class Executor {
 public:
  virtual ~Executor() = default;
  // `turn` does some of what waits; false: nothing is left to do.
  virtual void start(Callback<bool()> turn) = 0;
  // Something waits. From any thread.
  virtual void notify() = 0;
  // May `turn` wait until there is something to do?
  virtual bool may_wait() const = 0;
  // Returns when `turn` has said that nothing is left, and is not called any more.
  virtual void finish() = 0;
  // A clock that never jumps.
  virtual int64_t now_us() const = 0;
};

// Makes an executor for each queue.
using Executors = std::function<std::unique_ptr<Executor>()>;

std::unique_ptr<Executor> thread_of_its_own();

}  // namespace sluice::store
