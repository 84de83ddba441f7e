// One-time tokens, and the bearers of executions, at the door. Whatever is wrong with one, the answer is the same.
#pragma once

#include "api/request/request_context.h"

namespace sluice::api::executions {

void refuse_token(const RequestPtr& request);

// `denied` as above; anything else is a failure of the server's.
void refuse(const RequestPtr& request, const Error& error);

// True when something that could be a token stands in Authorization, and an execution in the path;
// otherwise the caller has been refused.
bool has_token(const RequestPtr& request);

// Spends the token that the route is for, and goes on with its execution. Not before everything else about the request
// was found right: a token cannot be given back.
void redeem(const RequestPtr& request, Callback<void(model::Execution)> then);

// With the execution whose bearer the caller has, if it is the one in the path.
void with_bearer(const RequestPtr& request, Callback<void(model::Execution)> then);

}  // namespace sluice::api::executions
