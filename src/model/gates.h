// The words of gates: what is asked of a human, what an agent may do by itself, secrets by their
// aliases, and the records that prove what was decided. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sluice::model {

// ── what an agent may do by itself ──
enum class Effect : uint8_t { allow, ask, deny };
enum class Subject : uint8_t { tool, command, file, host };

struct PolicyRule {
  Effect effect = Effect::allow;
  Subject subject = Subject::tool;
  std::string pattern;               // `*` stands for anything; a host's `*.` for one or more labels
  std::string reason;                // shown to whoever is asked; may be empty
  std::vector<std::string> secrets;  // of an allowed host: aliases that may be sent there; "*": all
  std::vector<uint16_t> ports;       // of a host that is not denied: what may be reached besides 443 and 80
  bool operator==(const PolicyRule&) const = default;
};
using Policy = std::vector<PolicyRule>;

std::string_view name_of(Effect effect);
std::string_view name_of(Subject subject);
std::optional<Effect> effect_named(std::string_view name);
std::optional<Subject> subject_named(std::string_view name);

// ── approvals (I-14) ──
enum class ItemKind : uint8_t { action, secret, client_tool };

// A call that the client itself carries out; its result is what is waited for.
struct ClientCall {
  std::string id;  // the step's
  std::string name;
  std::string arguments;  // JSON
  bool operator==(const ClientCall&) const = default;
};

struct RequestedItem {
  ItemKind kind = ItemKind::action;
  std::string description;
  std::optional<std::string> alias;  // of a secret
  std::vector<std::string> hosts;    // where it would go; empty: where the agent's policy lets it go
  uint8_t places = 0;                // of a secret that a request waits for: where it may stand; 0: not said
  std::optional<ClientCall> call;    // of a client_tool; of an action: the call that is asked about, if there is one
  bool operator==(const RequestedItem&) const = default;
};

enum class ApprovalStatus : uint8_t { pending, approved, denied, expired };

struct Approval {
  ApprovalId id;
  TenantId tenant_id;
  ConversationId conversation_id;
  MessageId message_id;
  RunId run_id;
  ApprovalStatus status = ApprovalStatus::pending;
  std::string reason;
  std::vector<RequestedItem> requested_items;
  std::optional<std::string> note;         // of whoever decided
  std::optional<std::string> resolved_by;  // "approver_key:apk_…", "expiry", "cancel", "failure"
  std::optional<Timestamp> resolved_at;
  Timestamp expires_at;
  Timestamp created_at;
  Timestamp updated_at;
};

std::string_view name_of(ItemKind kind);
std::string_view name_of(ApprovalStatus status);
std::optional<ApprovalStatus> approval_status_named(std::string_view name);

// ── secrets (I-17) ──
enum class SecretScope : uint8_t { conversation, agent, tenant };

// Where in a request a secret may stand.
enum SecretPlace : uint8_t { place_header = 1, place_query = 2, place_body = 4, place_basic = 8 };
inline constexpr uint8_t places_all = place_header | place_query | place_body | place_basic;
// A secret in a body or a query can be published by any host that keeps what it is sent, and in plain sight be read
// again, so these two places are for those who ask for them.
inline constexpr uint8_t places_by_default = place_header | place_basic;

// A secret as it is kept: nobody without the operator's key can read it.
struct SealedSecret {
  TenantId tenant_id;
  SecretScope scope = SecretScope::conversation;
  Ulid owner;  // the conversation, the agent or the tenant
  std::string alias;
  std::vector<std::string> hosts;  // as in PolicyRule::pattern; empty: where the agent's policy lets it go
  uint8_t places = places_all;
  std::string sealed;
  Timestamp created_at;
  Timestamp updated_at;
};

// `^[A-Z][A-Z0-9_]{0,63}$`
bool is_alias(std::string_view text);
std::string_view name_of(SecretScope scope);
std::optional<SecretScope> secret_scope_named(std::string_view name);
// One of header, query, body, basic.
std::optional<SecretPlace> secret_place_named(std::string_view name);
std::vector<std::string_view> names_of_places(uint8_t places);

// ── what was decided, and who was told ──
// One link of the chain. Its hash covers what is here and the hash before it.
struct AuditEntry {
  int64_t number = 0;  // from 1, without gaps; the store's to set
  std::optional<TenantId> tenant_id;
  std::string action;   // "approval.approved"
  std::string subject;  // "apr_…"
  std::string actor;    // "approver_key:apk_…", "service_key:key_…", "admin", "server"
  std::string detail;   // JSON, never anything secret
  Timestamp at;
  std::string previous_sha256;  // 32 raw bytes; the store's to set, as the next
  std::string sha256;
};

// What `sha256` of an entry must be: over its members as canonical JSON, `previous_sha256` first.
std::string digest_of(const AuditEntry& entry);

// News for a tenant's webhook, delivered at least once. `id` is the same each time.
struct Notice {
  NoticeId id;
  TenantId tenant_id;
  std::string kind;  // "approval.required", "approval.resolved"
  std::string body;  // JSON
  Timestamp created_at;
};

// ── where a conversation's runs are carried out (I-21) ──
enum class PlacementMode : uint8_t { pooled, sticky };
inline constexpr int64_t sticky_ttl_seconds_min = 60;
inline constexpr int64_t sticky_ttl_seconds_max = 86'400;

struct Runtime {
  std::string agent_type;  // empty, until the conversation is made: its agent's
  PlacementMode mode = PlacementMode::pooled;
  int64_t sticky_ttl_seconds = 900;
  bool operator==(const Runtime&) const = default;
};

// What there is of a conversation's sandbox right now. Not kept on disk: it dies with the server.
enum class SandboxState : uint8_t { none, warm, running, parked };
struct SandboxNow {
  SandboxState state = SandboxState::none;
  std::optional<Timestamp> expires_at;  // of the lease
};

std::string_view name_of(PlacementMode mode);
std::optional<PlacementMode> placement_mode_named(std::string_view name);
std::string_view name_of(SandboxState state);

// ── what one tenant may use ──
struct TenantLimits {
  int64_t weight = 1;       // of its share when others wait too
  int64_t max_running = 0;  // 0: as many as there are slots
  int64_t max_held = 0;     // 0: as many as the queue takes
  int64_t max_concurrent_sticky = 5;
  int64_t max_sticky_ttl_seconds = 3'600;
  bool operator==(const TenantLimits&) const = default;
};

}  // namespace sluice::model
