// A message as a caller writes it, and what is sent on for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/request/reading.h"
#include "engine/engine.h"

namespace sluice::api {

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

std::optional<store::Idempotency> idempotency_of(const RequestPtr& request, std::optional<std::string> key,
                                                 std::string operation);

// Hands the message to the engine. True when the server is stopping and the caller has been told.
bool refused_while_draining(const RequestPtr& request);
engine::Send send_of(const RequestPtr& request, MessageInput input,
                     std::variant<model::ConversationId, model::Conversation> conversation);

// What is named, and by which members.
struct Named {
  store::MaterialNames names;
  std::string at;  // the JSON pointer of the object that names it
  std::string_view environment_member = "env";

  bool empty() const { return !names.repository && names.skills.empty() && !names.environment; }
};
Named named_by(const MessageInput& input, std::string at);

// Goes on with what there is. Asks the store only when something is named. When one of them is
// missing the caller is told, and `then` is not called.
void find_materials(const RequestPtr& request, Named named, Callback<void(store::FoundMaterials)> then);
// The same for several objects at once, when only their being there matters. `then` gets the problem, if there is one:
// a call that is a replay is answered all the same.
void check_materials(const RequestPtr& request, std::vector<Named> named,
                     Callback<void(std::optional<model::Problem>)> then);

}  // namespace sluice::api
