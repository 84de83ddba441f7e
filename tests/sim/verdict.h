// What a simulated story was like: its trace, for people, and what was wrong in it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "world/fake_world.h"

namespace sluice::sim {

class Verdict final {
 public:
  Verdict(const world::FakeLoop& loop, bool told) : loop_(loop), told_(told), start_us_(loop.monotonic_us()) {}

  // A line of the story, told as it happens: a story that ends in the middle has been told up to there.
  void note(const std::string& line) {
    digest_ = (digest_ ^ std::hash<std::string_view>{}(line)) * 0x100000001b3;
    if (told_) std::printf("%9.3f  %s\n", static_cast<double>(loop_.monotonic_us() - start_us_) / 1e6, line.c_str());
    if (told_) std::fflush(stdout);
  }
  void wrong(const std::string& rule, const std::string& what) {
    if (wrongs.size() >= wrongs_max) return;
    wrongs.push_back(rule + ": " + what);
    note("WRONG " + wrongs.back());
  }
  bool is_told() const { return told_; }
  uint64_t digest() const { return digest_; }
  void count(const std::string& what, int64_t n = 1) { counts[what] += n; }

  std::vector<std::string> wrongs;
  std::map<std::string, int64_t> counts;  // of runs, faults, checks

 private:
  static constexpr std::size_t wrongs_max = 20;
  const world::FakeLoop& loop_;
  bool told_;
  int64_t start_us_;
  uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace sluice::sim
