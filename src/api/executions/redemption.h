// One-time tokens, and the bearers of executions, at the door. Whatever is wrong with one, the answer is the same.
#pragma once

#include "api/request_context.h"

namespace sluice::api::executions {

void refuse_token(const Asked& asked);

// `denied` as above; anything else is a failure of the server's.
void refuse(const Asked& asked, const Error& error);

// True when something that could be a token stands in Authorization, and an execution in the path;
// otherwise the caller has been refused.
bool has_token(const Asked& asked);

// Only the head has come: the body may follow where the handler would take what is shown now. Nothing is spent, so of
// two with the same token both may be let in, and redeem() decides.
void check_head(const Asked& asked);

// Spends the token that the route is for, and goes on with its execution. Not before everything else about the request
// was found right: a token cannot be given back.
void redeem(const Asked& asked, Callback<void(model::Execution)> then);

// With the execution whose bearer the caller has, if it is the one in the path.
void with_bearer(const Asked& asked, Callback<void(model::Execution)> then);

}  // namespace sluice::api::executions
