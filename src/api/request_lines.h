// Which requests have a line of their own in the log. Clients without a key share one budget, and each tenant has one
// with its sandboxes, so that very many requests do not fill the disk of the server with log. Requests beyond a budget
// are counted, and the next line of the same budget says how many there were.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/token_buckets.h"
#include "world/world.h"

namespace sluice::api {

class RequestLines final {
 public:
  static constexpr Rate strangers_rate{.per_second = 50, .burst = 1'000};
  static constexpr Rate tenant_rate{.per_second = 200, .burst = 5'000};

  // May a line be written? `tenant`: its id; empty: the client has shown no key.
  bool take(std::string_view tenant, int64_t now_us, world::Log& log);

 private:
  TokenBuckets strangers_{strangers_rate};
  TokenBuckets tenants_{tenant_rate};
  std::unordered_map<std::string, int64_t> left_out_;  // by tenant
};

}  // namespace sluice::api
