// How often somebody may ask: a bucket for each, which holds `burst` and is filled at `per_second`. Pure: the caller
// says what time it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::api {

struct Rate {
  double per_second = 0;  // 0: as often as one likes
  int64_t burst = 1;      // at once, after a pause
};

class TokenBuckets final {
 public:
  // Of those who asked lately. Whoever is too many has no bucket, and is let pass: nobody may shut others out by
  // coming under many names.
  static constexpr std::size_t count_max = 10'000;

  explicit TokenBuckets(Rate rate);

  // Takes one from the bucket of `who`. Microseconds until there is one again; 0: it was taken.
  int64_t take(std::string_view who, int64_t now_us);

  std::size_t size() const { return full_at_us_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  // Full buckets are as good as none.
  void forget_full(int64_t now_us);

  const int64_t interval_us_;  // between two of them; 0: no limit
  const int64_t burst_;
  // When each will be full again: all there is to know about it.
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> full_at_us_;
  int64_t looked_at_us_ = INT64_MIN;
};

}  // namespace sluice::api
