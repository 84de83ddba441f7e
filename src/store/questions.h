// How records are changed and listed: patches, pages with their cursors, and keys that make two requests one. Part of
// the store's public header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/callback.h"
#include "base/limits.h"
#include "base/result.h"
#include "journal/journal.h"
#include "model/model.h"

namespace sluice::store {

// The records of a store: what every operation on them takes first (store/database.h).
class Database;

// The journal, as the store's own code names it.
using journal::Accepted;
using journal::AcceptOutcome;
using journal::AguiRun;
using journal::Append;
using journal::Archived;
using journal::AskForLaunch;
using journal::Busy;
using journal::CommitClass;
using journal::Committed;
using journal::CommittedBatch;
using journal::ConversationOutcome;
using journal::Done;
using journal::follow_ms;
using journal::FoundMaterials;
using journal::held_listed_max;
using journal::held_of_tenant_max;
using journal::HeldElsewhere;
using journal::HeldRun;
using journal::Idempotency;
using journal::JournalPage;
using journal::KeyConflict;
using journal::LaunchQuestion;
using journal::LaunchRecords;
using journal::Mail;
using journal::MailAnswer;
using journal::MaterialNames;
using journal::NewConversation;
using journal::NewRun;
using journal::NodeFigures;
using journal::NodeNews;
using journal::Nodes;
using journal::NotCreated;
using journal::overdue_ms;
using journal::Replay;
using journal::SeenNode;
using journal::Turn;
using journal::UnfinishedRuns;

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

struct ConversationFilter {
  std::optional<std::string> user_id;
  model::ConversationKind kind = model::ConversationKind::plain;
  bool active_only = false;  // archived ones are left out
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

// Which runs a list has: those that fit all that is given.
struct RunFilter {
  std::optional<model::ConversationId> conversation;
  std::optional<model::AgentId> agent;
  std::vector<model::RunState> states;                     // any of these; empty: whatever it is
  std::optional<Timestamp> created_after, created_before;  // both left out themselves
};

// One page of a list. It may end before its limit, with has_more, at limits::page_bytes_max. Cursors
// are ids of the same kind as the rows; at most one is given.
template <typename AnyId>
struct PageQuery {
  int limit = limits::page_default;
  std::optional<AnyId> starting_after;  // rows after this one, in list order
  std::optional<AnyId> ending_before;   // rows just before this one, in list order
  // For lists whose rows move: the time by which the cursor's row stood where the page ended. Empty: as it stands now.
  std::optional<Timestamp> cursor_at;
};
template <typename Row>
struct Page {
  std::vector<Row> rows;
  bool has_more = false;  // further rows in the direction asked for
};

// A message as it is kept: its exact JSON.
struct StoredMessage {
  model::MessageId id;
  std::string json;
  bool is_replaced = false;  // as message() tells it; lists do not
};

// A key as authentication needs it.
struct KeyHolder {
  model::ServiceKey key;
  model::Tenant tenant;
};

enum class Order : uint8_t { ascending, descending };

}  // namespace sluice::store
