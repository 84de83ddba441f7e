// A turn's frames on their way to a browser, which counts as its reader while they go.
#pragma once

#include "api/request_context.h"

namespace sluice::api::assistant {

struct TurnOpening {
  model::Run run;
  bool keeps_on = false;  // when nobody reads it any more
  int64_t after = -1;     // the last frame that the browser has
};
void open_turn_stream(const Asked& asked, const TurnOpening& opening);

// Calls `then` with a chat that is the caller's and was not deleted, or answers that there is none.
void with_chat(const Asked& asked, model::ConversationId id, Callback<void(const model::Conversation&)> then);
// The same for the one that the path names.
void with_chat_of_path(const Asked& asked, Callback<void(const model::Conversation&)> then);

}  // namespace sluice::api::assistant
