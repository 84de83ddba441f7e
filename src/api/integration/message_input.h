// A message as a caller writes it, and what is sent on for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/fields.h"
#include "engine/engine.h"

namespace sluice::api::integration {

struct MessageInput {
  std::string content;
  std::optional<std::string> repository_id;
  std::optional<std::vector<std::string>> skill_ids;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<std::string> env_name;  // instead of variables
  std::optional<bool> filler;
  std::optional<std::string> session_id;  // of the agent program, to go on with (H-3)
};

// Of createMessage; initial_message knows all but the last.
inline constexpr std::string_view message_names[] = {"content", "repository_id", "skill_ids",  "env",
                                                     "filler",  "secrets",       "session_id", "on_capacity"};
inline constexpr NameList initial_message_names = NameList(message_names).first(7);

MessageInput read_message_input(const Fields& fields);
// Of it, what names repository, skills and environment.
MessageInput read_materials(const Fields& fields);
// {"enabled": bool}
std::optional<bool> read_filler(const Fields& fields);
// When all places are taken (I-12): wait, rather than be refused?
bool read_on_capacity(const Fields& fields);

std::optional<store::Idempotency> idempotency_of(const Asked& asked, std::optional<std::string> key,
                                                 std::string operation);

// Hands the message to the engine. True when the server is stopping and the caller has been told.
bool refused_while_draining(const Asked& asked);
engine::Send send_of(const Asked& asked, MessageInput input,
                     std::variant<model::ConversationId, model::Conversation> conversation);

}  // namespace sluice::api::integration
