// A chat's messages, gathered from the journals of its turns: what a reload shows.
#pragma once

#include <optional>
#include <string>

#include "api/request_context.h"

namespace sluice::api::assistant {

struct ChatNow {
  struct Running {
    model::Run run;
    int64_t last_frame = -1;
  };
  std::string messages;   // oldest first: JSON objects with commas between them
  bool has_more = false;  // before them
  std::optional<Running> running;
};

// The last turns, or those before the turn that has the message `before`. On failure the caller is told, and `then` is
// not called.
void read_chat(const Asked& asked, model::ConversationId chat, std::optional<model::MessageId> before,
               Callback<void(const ChatNow&)> then);

}  // namespace sluice::api::assistant
