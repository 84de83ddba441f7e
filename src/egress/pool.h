// Connections to the world that the next request may use: a few, for a while, each for one outlet only,
// so that what one guest's upstream remembers of a connection is never another guest's.
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

  // Null when there is none.
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
  std::list<Idle> idle_;  // the longest idle first
  uint64_t last_number_ = 0;
};

}  // namespace sluice::egress
