// Where all chance of a simulated story comes from: the same seed gives the same story on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "world/world.h"

namespace sluice::sim {

class Chance final {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}

  // SplitMix64.
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // From 0 to n - 1.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  bool percent(int64_t n) { return below(100) < n; }
  template <typename T>
  T& pick(std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int64_t>(from.size())))];
  }

 private:
  uint64_t state_;
};

class ChanceEntropy final : public world::Entropy {
 public:
  explicit ChanceEntropy(uint64_t seed) : chance_(seed) {}
  void fill(std::span<uint8_t> out) override {
    for (auto& byte : out) byte = static_cast<uint8_t>(chance_.next());
  }

 private:
  Chance chance_;
};

}  // namespace sluice::sim
