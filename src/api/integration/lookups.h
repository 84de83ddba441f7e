// Finds the object that the path of a request names.
#pragma once

#include "api/request/request_context.h"

namespace sluice::api::integration {

// Calls `then` with the conversation, or answers 404. A deleted chat of the Assistant is not found, although its
// history is kept.
void with_conversation(const RequestPtr& request, Callback<void(const model::Conversation&)> then);

// Calls `then` with the run, or answers 404.
void with_run(const RequestPtr& request, Callback<void(const model::Run&)> then);

}  // namespace sluice::api::integration
