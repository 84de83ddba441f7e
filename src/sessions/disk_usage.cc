#include "sessions/disk_usage.h"

namespace sluice::sessions {
namespace {

constexpr int64_t mib = 1024 * 1024;

std::string in_mib(int64_t bytes) { return std::to_string((bytes + mib - 1) / mib) + " MiB"; }

}  // namespace

void DiskUsage::leave(model::ConversationId conversation) {
  const auto user = users_.find(conversation);
  if (user != users_.end() && --user->second == 0) users_.erase(user);
}

void DiskUsage::note(model::TenantId tenant, model::ConversationId conversation, int64_t bytes) {
  auto& workspace = workspaces_[conversation];
  bytes_of_[workspace.tenant] -= workspace.bytes;
  bytes_of_[tenant] += bytes;
  gauge_.add(bytes - workspace.bytes);
  workspace = {tenant, bytes};
  if (bytes == 0) workspaces_.erase(conversation);
}

void DiskUsage::forget(model::ConversationId conversation) {
  ++removals_;
  const auto found = workspaces_.find(conversation);
  if (found == workspaces_.end()) return;
  bytes_of_[found->second.tenant] -= found->second.bytes;
  gauge_.add(-found->second.bytes);
  workspaces_.erase(found);
}

int64_t DiskUsage::bytes_of(model::TenantId tenant) const {
  const auto found = bytes_of_.find(tenant);
  return found == bytes_of_.end() ? 0 : found->second;
}

std::string DiskUsage::words(int64_t bytes) const {
  return "the workspaces of this tenant's conversations would have " + in_mib(bytes) + ", and may have " +
         in_mib(tenant_bytes_max_) +
         " (sandbox.tenant_workspaces_mib). Archive conversations that are not needed any more: that removes their "
         "workspaces";
}

std::optional<std::string> DiskUsage::refusal(model::TenantId tenant) const {
  const auto bytes = bytes_of(tenant);
  if (tenant_bytes_max_ == 0 || bytes < tenant_bytes_max_) return std::nullopt;
  return words(bytes);
}

std::optional<std::string> DiskUsage::take(model::TenantId tenant, model::ConversationId conversation, int64_t bytes) {
  const auto found = workspaces_.find(conversation);
  const auto before = found == workspaces_.end() ? 0 : found->second.bytes;
  const auto after = bytes_of(tenant) - before + bytes;
  // What only shrinks is welcome, however much there is.
  if (tenant_bytes_max_ != 0 && after > tenant_bytes_max_ && bytes > before) return words(after);
  note(tenant, conversation, bytes);
  return std::nullopt;
}

}  // namespace sluice::sessions
