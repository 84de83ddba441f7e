// How records are changed and listed: patches, and pages with their cursors. Part of the store's door.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "model/model.h"

namespace sluice::store {

struct ConversationPatch {
  // Outer empty: unchanged. Inner empty: cleared.
  std::optional<std::optional<std::string>> title;
  std::optional<std::optional<std::string>> user_id;
  std::optional<std::optional<bool>> filler_enabled;
  std::optional<std::optional<std::string>> repository_id;
  std::optional<model::Runtime> runtime;  // its agent_type is left as it is
  std::optional<model::Metadata> metadata;
  std::optional<model::ConversationStatus> status;
  std::optional<model::AgentId> agent_id;
};

struct TenantPatch {
  std::optional<std::string> name;
  std::optional<model::TenantStatus> status;
  std::optional<bool> filler_enabled;
  std::optional<model::TenantLimits> limits;
  std::optional<bool> require_bound_decisions;
  std::optional<std::optional<std::string>> webhook_url;
  std::optional<bool> agui_unsigned_approvals;
  std::optional<model::Metadata> metadata;
};

struct AgentPatch {
  std::optional<std::string> name;
  std::optional<std::string> system_prompt;
  std::optional<model::ModelChoice> model;
  std::optional<model::AgentLimits> limits;
  std::optional<std::vector<model::SkillId>> skill_ids;
  std::optional<std::optional<model::EnvironmentId>> environment_id;
  std::optional<model::Policy> policy;
  std::optional<model::AgentKit> kit;
  std::optional<bool> is_default;  // true only; the former default steps down in the same transaction
};

// One page of a list. It may end before its limit, with has_more, at limits::page_bytes_max. Cursors
// are ids of the same kind as the rows; at most one is given.
template <typename AnyId>
struct PageQuery {
  int limit = limits::page_default;
  std::optional<AnyId> starting_after;  // rows after this one, in list order
  std::optional<AnyId> ending_before;   // rows just before this one, in list order
};
template <typename Row>
struct Page {
  std::vector<Row> rows;
  bool has_more = false;  // further rows in the direction asked for
};

enum class Order : uint8_t { ascending, descending };

}  // namespace sluice::store
