// What the handlers of chats share: finding a chat, its files, and the stream of a turn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/request/waiting.h"

namespace sluice::api::assistant {

// A chat of the caller that was not deleted; otherwise the answer is 404.
Task<model::Conversation> chat_named(const RequestPtr& request, std::optional<model::ConversationId> id);
// The same for the chat that the path names.
Task<model::Conversation> chat_of_path(const RequestPtr& request);

// All files of a chat.
Task<std::vector<model::BagFile>> read_files(const RequestPtr& request, model::ConversationId chat);

// The title of a chat without a name: the first line of its first message.
std::string title_of(std::string_view message);

}  // namespace sluice::api::assistant
