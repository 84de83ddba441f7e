// Limits on requests per second and on lines of the log: token buckets, each of which holds `burst` tokens and is
// refilled at `per_second`. Pure: the caller passes the time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "world/world.h"

namespace sluice::api {

struct Rate {
  double per_second = 0;  // 0: no limit
  int64_t burst = 1;      // at once, after a pause
};

class TokenBuckets final {
 public:
  // Buckets of recent callers. A caller beyond this number has no bucket and no limit, so that a client with many names
  // cannot lock others out.
  static constexpr std::size_t count_max = 10'000;

  explicit TokenBuckets(Rate rate);

  // Takes a token from the bucket of `caller`. Returns 0 if there was one, or the microseconds until the next one.
  int64_t take(std::string_view caller, int64_t now_us);

  std::size_t size() const { return full_at_us_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  // A full bucket needs no entry.
  void forget_full(int64_t now_us);

  const int64_t interval_us_;  // between two tokens; 0: no limit
  const int64_t burst_;
  // When each bucket will be full again, which is all of its state.
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> full_at_us_;
  int64_t looked_at_us_ = INT64_MIN;
};

// Decides which requests get a line of their own in the log. Clients without a key share one budget; each tenant has
// one with its sandboxes. A flood of requests must not fill the server's disk with log. Requests beyond a budget are
// counted, and the next line of the same budget says how many there were.
class RequestLines final {
 public:
  static constexpr Rate anonymous_rate{.per_second = 50, .burst = 1'000};
  static constexpr Rate tenant_rate{.per_second = 200, .burst = 5'000};

  // Returns whether a line may be written. `tenant` is an id, or empty if the client has shown no key.
  bool take(std::string_view tenant, int64_t now_us, world::Log& log);

 private:
  TokenBuckets anonymous_{anonymous_rate};
  TokenBuckets tenants_{tenant_rate};
  std::unordered_map<std::string, int64_t> left_out_;  // by tenant
};

}  // namespace sluice::api
