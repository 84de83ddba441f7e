// One-time tokens at the door. Whatever is wrong with one, the answer is the same.
#pragma once

#include "api/request_context.h"

namespace sluice::api::executions {

void refuse_token(const Asked& asked);

// True when something that could be a token stands in Authorization, and an execution in the path;
// otherwise the caller has been refused.
bool has_token(const Asked& asked);

// Spends the token, and goes on with its execution. Not before everything else about the request was
// found right: a token cannot be given back.
void redeem(const Asked& asked, model::TokenPurpose purpose, Callback<void(model::Execution)> then);

}  // namespace sluice::api::executions
