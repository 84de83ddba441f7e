// Which news of a run's files are reported one by one: the first ones. A sandbox that makes and removes files all day
// would fill the disk with them, so later ones are counted, and reported as a number. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "workspace/workspace.h"

namespace sluice::sessions {

class FileReport final {
 public:
  explicit FileReport(int64_t single_max) : left_(single_max) {}

  // Leaves in `news` what is reported by itself, and counts the rest.
  void trim(std::vector<workspace::FileNews>& news) {
    std::size_t kept = 0;
    while (kept < news.size() && left_ > 0) left_ -= weight_of(news[kept++]);
    summed_ += static_cast<int64_t>(news.size() - kept);
    news.erase(news.begin() + static_cast<std::ptrdiff_t>(kept), news.end());
  }
  bool has_sum() const { return summed_ > 0; }
  int64_t take_sum() { return std::exchange(summed_, 0); }

 private:
  // A long path takes the room of several short ones.
  static constexpr std::size_t path_bytes = 256;
  static int64_t weight_of(const workspace::FileNews& news) {
    return 1 + static_cast<int64_t>(news.path.size() / path_bytes);
  }

  int64_t left_;
  int64_t summed_ = 0;
};

}  // namespace sluice::sessions
