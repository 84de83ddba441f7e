// What the workspaces that are kept here take of the disk, for each tenant, and which of them a run is using. No I/O:
// others measure (layer_bytes.h). On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "model/model.h"
#include "world/metrics.h"

namespace sluice::sessions {

class DiskUsage final {
 public:
  // 0: tenants may have as much as there is.
  DiskUsage(int64_t tenant_bytes_max, world::Metrics& metrics)
      : tenant_bytes_max_(tenant_bytes_max),
        gauge_(metrics.gauge("sluice_workspace_bytes", "What kept workspaces of conversations take of the disk.")) {}

  // A run works over the conversation's workspace, until it leaves.
  void enter(model::ConversationId conversation) { ++users_[conversation]; }
  void leave(model::ConversationId conversation);
  bool is_in_use(model::ConversationId conversation) const { return users_.contains(conversation); }

  // What the conversation's workspace has by now.
  void note(model::TenantId tenant, model::ConversationId conversation, int64_t bytes);
  bool knows(model::ConversationId conversation) const { return workspaces_.contains(conversation); }
  // It was removed.
  void forget(model::ConversationId conversation);
  // Grows whenever one is removed: what was measured before may not be there any more.
  uint64_t removals() const { return removals_; }

  // Why no sandbox may be opened for the tenant: it has all that it may have.
  std::optional<std::string> refusal(model::TenantId tenant) const;
  // Why the conversation's workspace may not have so much from now on. Empty: it may, and that is noted.
  std::optional<std::string> take(model::TenantId tenant, model::ConversationId conversation, int64_t bytes);

  int64_t bytes_of(model::TenantId tenant) const;

 private:
  struct Workspace {
    model::TenantId tenant;
    int64_t bytes = 0;
  };

  std::string words(int64_t bytes) const;

  const int64_t tenant_bytes_max_;
  world::Gauge& gauge_;
  std::unordered_map<model::ConversationId, Workspace> workspaces_;
  std::unordered_map<model::TenantId, int64_t> bytes_of_;
  std::unordered_map<model::ConversationId, int> users_;  // none is 0
  uint64_t removals_ = 0;
};

}  // namespace sluice::sessions
