// Checks one-time tokens and the bearers of executions. The answer to an invalid one never says why.
#pragma once

#include "api/request/request_context.h"

namespace sluice::api::executions {

void refuse_token(const RequestPtr& request);

// Answers `denied` like an invalid token, and anything else as a failure of the server.
void refuse(const RequestPtr& request, const Error& error);

// True if Authorization contains something like a token and the path an execution. Otherwise the request has been
// refused.
bool has_token(const RequestPtr& request);

// Spends the token that the route requires and calls `then` with its execution. Call it after everything else has been
// checked: a spent token cannot be given back.
void redeem(const RequestPtr& request, Callback<void(model::Execution)> then);

// Calls `then` with the execution in the path if the request has its bearer, or refuses the request.
void with_bearer(const RequestPtr& request, Callback<void(model::Execution)> then);

// Checks the one-time token or the bearer before the body of a callback is read. Spends nothing: of two requests with
// the same token both may be let in, and the handler decides.
void check_head(const RequestPtr& request);

}  // namespace sluice::api::executions
