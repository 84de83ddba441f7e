#include "egress/request_report.h"

#include <algorithm>
#include <utility>

namespace sluice::egress {
namespace {

constexpr std::size_t aliases_max = 64;  // of one sum
constexpr int64_t second_us = 1'000'000;

}  // namespace

bool RequestReport::is_single(const RequestRecord& record) {
  if (count_ < single_max_) return ++count_, true;
  auto at = sums_.find(record.host);
  if (at == sums_.end()) {
    const std::string host = sums_.size() < hosts_max ? record.host : std::string(other_hosts);
    at = sums_.try_emplace(host).first;
    at->second.host = host;
  }
  RequestRecord& sum = at->second;
  ++sum.more;
  sum.sent_bytes += record.sent_bytes;
  sum.received_bytes += record.received_bytes;
  for (const auto& alias : record.aliases) {
    if (sum.aliases.size() < aliases_max && std::ranges::find(sum.aliases, alias) == sum.aliases.end()) {
      sum.aliases.push_back(alias);
    }
  }
  if (!record.refused.empty()) {
    ++sum.more_refused;
    sum.refused = record.refused;
  }
  return false;
}

std::vector<RequestRecord> RequestReport::take_sums() {
  std::vector<RequestRecord> records;
  for (auto& [host, sum] : sums_) records.push_back(std::move(sum));
  sums_.clear();
  return records;
}

bool LineBudget::take(int64_t now_us) {
  const int64_t gained = (now_us - filled_us_) * per_second_ / second_us;
  if (filled_us_ == 0 || left_ + gained >= at_once_) {
    left_ = at_once_;
    filled_us_ = now_us;
  } else if (gained > 0) {
    left_ += gained;
    filled_us_ += gained * second_us / per_second_;
  }
  if (left_ == 0) return ++left_out_, false;
  --left_;
  return true;
}

int64_t LineBudget::take_left_out() { return std::exchange(left_out_, 0); }

bool SharedLineBudget::take(const std::string& tenant, int64_t now_us) {
  const bool is_known = by_tenant_.size() < tenants_max || by_tenant_.contains(tenant);
  auto& its = by_tenant_.try_emplace(is_known ? tenant : std::string(), each_.at_once, each_.per_second).first->second;
  const bool goes = its.take(now_us) && all_.take(now_us);
  if (!goes) ++left_out_;
  return goes;
}

int64_t SharedLineBudget::take_left_out() { return std::exchange(left_out_, 0); }

}  // namespace sluice::egress
