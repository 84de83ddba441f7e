// Accepts what comes through a sandbox's listener.
#pragma once

#include <memory>

#include "base/callback.h"
#include "base/fd.h"
#include "world/world.h"

namespace sluice::egress {

class Acceptor final {
 public:
  // `admit` gets each connection, nonblocking, from the loop; never from inside the constructor.
  Acceptor(world::Reactor& reactor, OwnedFd listener_fd, Callback<void(OwnedFd)> admit);

 private:
  void watch();
  void accept_all();

  world::Reactor& reactor_;
  OwnedFd listener_fd_;
  Callback<void(OwnedFd)> admit_;
  std::unique_ptr<world::Watch> watch_;
  world::Timer pause_;
};

}  // namespace sluice::egress
