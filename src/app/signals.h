// Signals as events of the loop.
#pragma once

#include <memory>

#include "base/callback.h"
#include "world/world.h"

namespace sluice::app {

// Blocks SIGTERM and SIGINT for this thread and those it starts later; call it before the first one,
// or a signal could still kill the process through another thread. SIGPIPE is ignored, and SIGXFSZ:
// a limit on the size of files then looks like a full disk, which is survived.
void take_signals_from_threads();

// Calls back with the number of each SIGTERM and SIGINT. Dropping it stops listening.
class SignalWatch {
 public:
  SignalWatch(world::Reactor& reactor, Callback<void(int)> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int fd_;
  Callback<void(int)> on_signal_;
  std::unique_ptr<world::Watch> watch_;
};

}  // namespace sluice::app
