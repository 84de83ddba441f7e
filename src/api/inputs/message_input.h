// A message in a request, and the command that it becomes. Called from the loop's thread.
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
  std::optional<std::string> env_name;  // the name of an environment, instead of variables
  std::optional<bool> filler;
  std::optional<std::string> session_id;  // of the agent program, whose session continues (H-3)
};

// The members of createMessage; initial_message has all but the last.
inline constexpr std::string_view message_names[] = {"content", "repository_id", "skill_ids",  "env",
                                                     "filler",  "secrets",       "session_id", "on_capacity"};
inline constexpr NameList initial_message_names = NameList(message_names).first(7);

MessageInput read_message_input(const Fields& fields);
// Reads only the members that name repository, skills and environment.
MessageInput read_materials(const Fields& fields);
// {"enabled": bool}
std::optional<bool> read_filler(const Fields& fields);
// Whether the message waits if all slots are taken (I-12), instead of being refused.
bool read_on_capacity(const Fields& fields);

std::optional<journal::Idempotency> idempotency_of(const RequestPtr& request, std::optional<std::string> key,
                                                   std::string operation);

// True: the server is stopping, and the request has been answered.
bool refused_while_draining(const RequestPtr& request);
engine::Send send_of(const RequestPtr& request, MessageInput input,
                     std::variant<model::ConversationId, model::Conversation> conversation);

// The materials that a request names, and the members that name them.
struct NamedMaterials {
  store::MaterialNames names;
  std::string at;  // JSON pointer of the object with these members
  std::string_view environment_member = "env";

  bool empty() const { return !names.repository && names.skills.empty() && !names.environment; }
};
NamedMaterials named_by(const MessageInput& input, std::string at);

// Checks that the named materials exist before anything is created, so that the client learns which name is wrong, and
// not that a run failed. Calls `then` with what the store has; asks the store only if something is named. Answers the
// request if a name is wrong.
void find_materials(const RequestPtr& request, NamedMaterials named, Callback<void(store::FoundMaterials)> then);
// Checks several objects at once. Calls `then` with the problem, if there is one: a replay is answered all the same.
void check_materials(const RequestPtr& request, std::vector<NamedMaterials> named,
                     Callback<void(std::optional<model::Problem>)> then);

}  // namespace sluice::api
