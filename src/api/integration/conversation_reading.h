// The conversation that a path names.
#pragma once

#include "api/request_context.h"

namespace sluice::api::integration {

// Calls `then` with it, or says that there is none: a chat that was deleted is none to anybody, though its history is
// kept.
void with_conversation(const Asked& asked, Callback<void(const model::Conversation&)> then);

}  // namespace sluice::api::integration
