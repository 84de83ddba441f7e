// The words of the house: values only, spelt the same here, in the store and on the wire.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/gates.h"
#include "model/ids.h"
#include "model/kit.h"

namespace sluice::model {

using Metadata = std::map<std::string, std::string>;

enum class TenantStatus : uint8_t { active, suspended };

struct Tenant {
  TenantId id;
  std::string name;
  TenantStatus status = TenantStatus::active;
  bool filler_enabled = false;  // the widest ring of the filler cascade
  TenantLimits limits;
  bool require_bound_decisions = false;    // decisions must sign digests of what they decide
  std::optional<std::string> webhook_url;  // told when approvals are raised and resolved
  bool agui_unsigned_approvals = false;    // an AG-UI client's answer to an interrupt counts without a signature
  Metadata metadata;
  Timestamp created_at;
  Timestamp updated_at;
};

// A host system's credential. The secret itself is shown once, at creation; only its hash is kept.
struct ServiceKey {
  ServiceKeyId id;
  TenantId tenant_id;
  std::string name;
  std::string secret_sha256;  // 32 raw bytes
  std::string hint;           // the last four characters, to tell keys apart
  Timestamp created_at;
  std::optional<Timestamp> revoked_at;
};

enum class SignatureAlgorithm : uint8_t { hmac_sha256, ed25519 };

// Whoever holds this key may decide approvals. Verification material, never shown after creation.
struct ApproverKey {
  ApproverKeyId id;
  TenantId tenant_id;
  std::string name;
  SignatureAlgorithm algorithm = SignatureAlgorithm::hmac_sha256;
  std::string material;  // the HMAC secret, sealed, or the raw Ed25519 public key
  Timestamp created_at;
  std::optional<Timestamp> revoked_at;
};

struct AgentLimits {
  int64_t max_output_tokens = 8192;
  int64_t max_runtime_seconds = 28'800;
  int64_t max_history_messages = 200;
  bool operator==(const AgentLimits&) const = default;
};

struct Agent {
  AgentId id;
  TenantId tenant_id;
  std::string name;
  std::string system_prompt;
  ModelChoice model;
  AgentLimits limits;
  std::vector<SkillId> skill_ids;               // always at hand; a message's skill_ids come on top
  std::optional<EnvironmentId> environment_id;  // for messages that name none
  Policy policy;
  AgentKit kit;
  bool is_default = false;  // used by conversations that name no agent; one per tenant
  Timestamp created_at;
  Timestamp updated_at;
};

enum class ConversationStatus : uint8_t { active, archived };

// Who talks in it: a host system, a person with the Assistant, or a workflow's block with an agent.
enum class ConversationKind : uint8_t { plain, chat, block };

struct Conversation {
  ConversationId id;
  TenantId tenant_id;
  AgentId agent_id;
  ConversationKind kind = ConversationKind::plain;
  std::optional<std::string> user_id;
  std::optional<std::string> title;
  Metadata metadata;
  std::optional<bool> filler_enabled;
  std::optional<std::string> repository_id;
  Runtime runtime;
  SandboxNow sandbox;  // filled in where it is shown
  ConversationStatus status = ConversationStatus::active;
  Timestamp last_message_at;  // creation, until there is a message
  Timestamp created_at;
  Timestamp updated_at;
};

enum class Role : uint8_t { user, assistant, system };
enum class MessageStatus : uint8_t { in_progress, awaiting_approval, completed, failed };

struct Usage {
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  bool operator==(const Usage&) const = default;
};

struct Message {
  MessageId id;
  ConversationId conversation_id;
  Role role = Role::user;
  std::string content;  // its one part of type text is this again
  std::optional<std::string> repository_id;
  std::optional<std::vector<std::string>> skill_ids;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<std::string> env_name;  // instead of variables: the named environment, by id or name
  MessageStatus status = MessageStatus::completed;
  std::optional<Usage> usage;
  Timestamp created_at;
};

enum class RunState : uint8_t {
  accepted,
  held,
  starting,
  streaming,
  parked,
  finishing,
  completed,
  failed,
  cancelled,
};
inline constexpr int run_state_count = 9;

constexpr bool is_over(RunState state) {
  return state == RunState::completed || state == RunState::failed || state == RunState::cancelled;
}

// I-10: what a run's state means for the message it produces.
MessageStatus message_status(RunState state);

// Whose word counts: an append with an older epoch than the run's is refused by the store.
struct Epoch {
  uint64_t value = 0;
  auto operator<=>(const Epoch&) const = default;
};

// The place of an event in its run's journal. The first is 1; 0 is before everything.
struct Position {
  uint64_t value = 0;
  auto operator<=>(const Position&) const = default;
};

struct Run {
  RunId id;
  TenantId tenant_id;
  ConversationId conversation_id;
  MessageId user_message_id;
  MessageId message_id;  // the assistant message it produces
  AgentId agent_id;
  RunState state = RunState::accepted;
  Epoch epoch;
  Position head;  // of its last event
  Timestamp created_at;
  std::optional<Timestamp> ended_at;
  NodeId node;  // the server that carries it; all zero where there is only one
};

std::string_view name_of(TenantStatus status);
std::string_view name_of(SignatureAlgorithm algorithm);
std::string_view name_of(ConversationStatus status);
std::string_view name_of(ConversationKind kind);
std::string_view name_of(Role role);
std::string_view name_of(MessageStatus status);
std::string_view name_of(RunState state);

std::optional<TenantStatus> tenant_status_named(std::string_view name);
std::optional<SignatureAlgorithm> signature_algorithm_named(std::string_view name);
std::optional<ConversationStatus> conversation_status_named(std::string_view name);
std::optional<ConversationKind> conversation_kind_named(std::string_view name);
std::optional<Role> role_named(std::string_view name);
std::optional<MessageStatus> message_status_named(std::string_view name);
std::optional<RunState> run_state_named(std::string_view name);

}  // namespace sluice::model
