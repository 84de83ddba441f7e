// What the handlers of chats share: finding a chat, its files, and the stream of a turn.
#pragma once

#include <vector>

#include "api/request/request_context.h"

namespace sluice::api::assistant {

struct TurnOpening {
  model::Run run;
  bool keeps_on = false;  // the turn continues without a reader
  int64_t after = -1;     // the last frame that the browser has
};
// Streams the frames of a turn to a browser, which counts as its reader until the stream ends.
void open_turn_stream(const RequestPtr& request, const TurnOpening& opening);

// Calls `then` with a chat of the caller that was not deleted, or answers 404.
void with_chat(const RequestPtr& request, model::ConversationId id, Callback<void(const model::Conversation&)> then);
// The same for the chat that the path names.
void with_chat_of_path(const RequestPtr& request, Callback<void(const model::Conversation&)> then);

// Reads all files of a chat, page by page, and appends them to `files`. Answers the request if something fails.
void read_files(const RequestPtr& request, model::ConversationId chat, std::vector<model::BagFile> files,
                Callback<void(const std::vector<model::BagFile>&)> then);

}  // namespace sluice::api::assistant
