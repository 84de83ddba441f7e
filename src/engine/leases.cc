#include "engine/leases.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace sluice::engine {

void Leases::begin(model::ConversationId conversation, model::TenantId tenant, int64_t ttl_seconds) {
  const bool fresh = leases_.emplace(conversation, Lease{.tenant = tenant, .ttl_us = ttl_seconds * 1'000'000}).second;
  SLUICE_CHECK(fresh);
}

bool Leases::enter(model::ConversationId conversation, model::TenantId tenant) {
  const auto found = leases_.find(conversation);
  if (found == leases_.end() || found->second.in_use || found->second.tenant != tenant) return false;
  found->second.in_use = true;
  found->second.timer.cancel();
  return true;
}

void Leases::leave(model::ConversationId conversation, bool worked) {
  auto& lease = leases_.at(conversation);
  SLUICE_CHECK(lease.in_use);
  lease.in_use = false;
  if (lease.ends_with_run) return finish(conversation);
  if (worked) lease.idle_since_us = loop_.monotonic_us();
  sleep(conversation, lease);
}

void Leases::set_ttl(model::ConversationId conversation, int64_t ttl_seconds) {
  const auto found = leases_.find(conversation);
  if (found == leases_.end()) return;
  found->second.ttl_us = ttl_seconds * 1'000'000;
  found->second.ends_with_run = false;
  if (!found->second.in_use) sleep(conversation, found->second);
}

void Leases::end(model::ConversationId conversation) {
  const auto found = leases_.find(conversation);
  if (found == leases_.end()) return;
  found->second.ends_with_run = true;
  if (!found->second.in_use) finish(conversation);
}

void Leases::end_all() {
  std::vector<model::ConversationId> all;
  for (const auto& [conversation, lease] : leases_) all.push_back(conversation);
  for (const auto& conversation : all) end(conversation);
}

std::optional<Timestamp> Leases::expires_at(model::ConversationId conversation) const {
  const auto found = leases_.find(conversation);
  if (found == leases_.end() || found->second.in_use) return std::nullopt;
  return Timestamp{loop_.now().ms + left_us(found->second) / 1'000};
}

int64_t Leases::left_us(const Lease& lease) const {
  return std::max<int64_t>(0, lease.idle_since_us + lease.ttl_us - loop_.monotonic_us());
}

void Leases::sleep(model::ConversationId conversation, Lease& lease) {
  SLUICE_CHECK(!lease.in_use);
  const Millis left{(left_us(lease) + 999) / 1'000};
  lease.timer = loop_.after(left, [this, conversation] { finish(conversation); });
}

void Leases::finish(model::ConversationId conversation) {
  const auto tenant = leases_.at(conversation).tenant;
  SLUICE_CHECK(!leases_.at(conversation).in_use);
  leases_.erase(conversation);
  ended_(conversation, tenant);
}

}  // namespace sluice::engine
