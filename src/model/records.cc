#include "model/records.h"

#include <array>

#include "model/enum_names.h"
#include "model/objects.h"

namespace sluice::model {
namespace {

constexpr std::array<std::string_view, 2> tenant_status_names = {"active", "suspended"};
constexpr std::array<std::string_view, 2> algorithm_names = {"hmac-sha256", "ed25519"};
constexpr std::array<std::string_view, 2> conversation_status_names = {"active", "archived"};
constexpr std::array<std::string_view, 3> conversation_kind_names = {"plain", "chat", "block"};
constexpr std::array<std::string_view, 3> role_names = {"user", "assistant", "system"};
constexpr std::array<std::string_view, 4> message_status_names = {"in_progress", "awaiting_approval", "completed",
                                                                  "failed"};
constexpr std::array<std::string_view, run_state_count> run_state_names = {
    "accepted", "held", "starting", "streaming", "parked", "finishing", "completed", "failed", "cancelled"};

constexpr std::array<std::string_view, 3> token_purpose_names = {"setup", "run", "upload"};
constexpr std::array<std::string_view, 2> file_source_names = {"upload", "sandbox"};

}  // namespace

MessageStatus message_status(RunState state) {
  switch (state) {
    case RunState::parked: return MessageStatus::awaiting_approval;
    case RunState::completed: return MessageStatus::completed;
    case RunState::failed:
    case RunState::cancelled: return MessageStatus::failed;
    case RunState::accepted:
    case RunState::held:
    case RunState::starting:
    case RunState::streaming:
    case RunState::finishing: break;
  }
  return MessageStatus::in_progress;
}

std::string_view name_of(TenantStatus status) { return name_in(tenant_status_names, status); }
std::string_view name_of(SignatureAlgorithm algorithm) { return name_in(algorithm_names, algorithm); }
std::string_view name_of(ConversationStatus status) { return name_in(conversation_status_names, status); }
std::string_view name_of(ConversationKind kind) { return name_in(conversation_kind_names, kind); }
std::string_view name_of(Role role) { return name_in(role_names, role); }
std::string_view name_of(MessageStatus status) { return name_in(message_status_names, status); }
std::string_view name_of(TokenPurpose purpose) { return name_in(token_purpose_names, purpose); }
std::string_view name_of(FileSource source) { return name_in(file_source_names, source); }
std::string_view name_of(RunState state) { return name_in(run_state_names, state); }

std::optional<TenantStatus> tenant_status_named(std::string_view name) {
  return named<TenantStatus>(tenant_status_names, name);
}
std::optional<SignatureAlgorithm> signature_algorithm_named(std::string_view name) {
  return named<SignatureAlgorithm>(algorithm_names, name);
}
std::optional<ConversationStatus> conversation_status_named(std::string_view name) {
  return named<ConversationStatus>(conversation_status_names, name);
}
std::optional<ConversationKind> conversation_kind_named(std::string_view name) {
  return named<ConversationKind>(conversation_kind_names, name);
}
std::optional<FileSource> file_source_named(std::string_view name) {
  return named<FileSource>(file_source_names, name);
}
std::optional<Role> role_named(std::string_view name) { return named<Role>(role_names, name); }
std::optional<MessageStatus> message_status_named(std::string_view name) {
  return named<MessageStatus>(message_status_names, name);
}
std::optional<RunState> run_state_named(std::string_view name) { return named<RunState>(run_state_names, name); }

}  // namespace sluice::model
