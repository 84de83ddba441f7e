// A message of the user that a client sends again, to have it answered anew or with other words: where its thread has
// it.
#pragma once

#include <optional>
#include <string>

#include "api/request_context.h"

namespace sluice::api::agui {

// Calls `then` with our id of the message that the client calls `prompt_id`; empty: it is new, or was replaced already.
// On failure the caller is told, and `then` is not called.
void find_earlier_prompt(const Asked& asked, model::ConversationId conversation, std::string prompt_id,
                         Callback<void(std::optional<model::MessageId>)> then);

}  // namespace sluice::api::agui
