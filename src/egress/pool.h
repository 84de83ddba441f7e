// Idle upstream connections that the next request may use. Each session has its own pool, so that what an upstream
// server associates with a connection never applies to another run. Used on the loop's thread only.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "egress/destination.h"
#include "egress/stream.h"
#include "world/world.h"

namespace sluice::egress {

class Pool final {
 public:
  explicit Pool(world::Reactor& reactor) : reactor_(reactor) {}

  // Null if none is idle.
  std::unique_ptr<Stream> take(const Destination& to);
  void put(const Destination& to, std::unique_ptr<Stream> stream);
  void clear() { idle_.clear(); }

 private:
  static constexpr std::size_t count_max = 16;
  static constexpr int64_t idle_ms_max = 30'000;  // most servers wait longer

  struct Idle {
    uint64_t number = 0;
    Destination to;
    std::unique_ptr<Stream> stream;
    world::Timer timer;
  };
  void drop(uint64_t number);

  world::Reactor& reactor_;
  std::list<Idle> idle_;  // least recently used first
  uint64_t last_number_ = 0;
};

}  // namespace sluice::egress
