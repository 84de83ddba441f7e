#include "api/request/rate_limits.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace sluice::api {
namespace {

constexpr int64_t second_us = 1'000'000;

int64_t interval_of(double per_second) {
  return per_second <= 0 ? 0 : std::max<int64_t>(1, std::llround(static_cast<double>(second_us) / per_second));
}

}  // namespace

TokenBuckets::TokenBuckets(Rate rate) : interval_us_(interval_of(rate.per_second)), burst_(rate.burst) {
  SLUICE_CHECK(burst_ >= 1);
}

int64_t TokenBuckets::take(std::string_view caller, int64_t now_us) {
  if (interval_us_ == 0) return 0;
  auto found = full_at_us_.find(caller);
  if (found == full_at_us_.end()) {
    if (full_at_us_.size() >= count_max) forget_full(now_us);
    if (full_at_us_.size() >= count_max) return 0;
    found = full_at_us_.emplace(caller, now_us).first;
  }
  const int64_t full_at_us = std::max(found->second, now_us) + interval_us_;
  const int64_t wait_us = full_at_us - now_us - interval_us_ * burst_;
  if (wait_us > 0) return wait_us;
  found->second = full_at_us;
  return 0;
}

void TokenBuckets::forget_full(int64_t now_us) {
  if (looked_at_us_ != INT64_MIN && now_us - looked_at_us_ < second_us) return;  // it visits every bucket
  looked_at_us_ = now_us;
  std::erase_if(full_at_us_, [&](const auto& bucket) { return bucket.second <= now_us; });
}

bool RequestLines::take(std::string_view tenant, int64_t now_us, world::Log& log) {
  auto& buckets = tenant.empty() ? anonymous_ : tenants_;
  if (buckets.take(tenant, now_us) > 0) {
    ++left_out_[std::string(tenant)];
    return false;
  }
  if (const auto found = left_out_.find(std::string(tenant)); found != left_out_.end()) {
    log.write(world::LogLevel::info, "requests left out of the log",
              {{"count", found->second}, {"tenant", tenant.empty() ? "-" : tenant}});
    left_out_.erase(found);
  }
  return true;
}

}  // namespace sluice::api
