// What happens in a simulated world, drawn from a seed and from what it is about, and not from what was drawn before:
// so two programs that do the same meet the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::waiting {

class Chance {
 public:
  explicit Chance(uint64_t seed) : seed_(seed) {}
  // 0 to `below` - 1.
  int of(int below, int whose, int what, int times = 0) const {
    uint64_t x = seed_ * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(whose) * 0xbf58476d1ce4e5b9U +
                 static_cast<uint64_t>(what) * 0x94d049bb133111ebU + static_cast<uint64_t>(times) * 0xd6e8feb86659fd93U;
    for (int round = 0; round < 2; ++round) {
      x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
      x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
      x ^= x >> 31U;
    }
    return static_cast<int>(x % static_cast<uint64_t>(below));
  }

 private:
  uint64_t seed_;
};

// What one run or session did, in order.
struct Story {
  std::vector<std::string> lines;
  std::size_t lines_before_end = 0;  // when it was cancelled or dropped
  bool was_cancelled = false;        // while it was still there
  bool was_dropped = false;
  int calls_after_end = 0;
};

// How often memory was taken, and how much is held.
struct Memory {
  int64_t blocks = 0;
  int64_t bytes = 0;
  int64_t taken = 0;  // blocks, ever
};
Memory memory_now();

// What each run or session of a world does under this seed, as callbacks or as tasks. `left_over`: timers that the
// launcher still keeps at the end.
std::vector<Story> launch_stories(uint64_t seed, bool with_tasks, std::size_t& left_over);
std::vector<Story> session_stories(uint64_t seed, bool with_tasks);

}  // namespace sluice::waiting
