#include "api/request_lines.h"

namespace sluice::api {

bool RequestLines::take(std::string_view tenant, int64_t now_us, world::Log& log) {
  auto& buckets = tenant.empty() ? strangers_ : tenants_;
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
