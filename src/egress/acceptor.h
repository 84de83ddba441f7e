// Accepts the connections that arrive at a sandbox's listener. Used on the loop's thread only.
#pragma once

#include <memory>

#include "base/callback.h"
#include "base/fd.h"
#include "world/world.h"

namespace sluice::egress {

class Acceptor final {
 public:
  static constexpr int accepts_per_turn_max = 64;  // so that other work of the loop is not delayed

  // `admit` gets each connection, nonblocking, from the loop; never from inside the constructor.
  Acceptor(world::Reactor& reactor, OwnedFd listener_fd, Callback<void(OwnedFd)> admit);

 private:
  void watch();
  void accept_waiting();

  world::Reactor& reactor_;
  OwnedFd listener_fd_;
  Callback<void(OwnedFd)> admit_;
  std::unique_ptr<world::Watch> watch_;
  world::Timer pause_;
};

}  // namespace sluice::egress
