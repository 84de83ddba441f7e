// The surface for runners on other machines: they fetch what an execution needs and return its files.
#pragma once

#include "api/request/route.h"

namespace sluice::api::executions {

void create_execution(const RequestPtr& request);
void list_files(const RequestPtr& request);

// With a one-time token, bare in Authorization.
void get_env(const RequestPtr& request);
void get_config(const RequestPtr& request);
void take_results(const RequestPtr& request);

// With the execution's bearer.
void list_skills(const RequestPtr& request);
void get_skill(const RequestPtr& request);
void get_files(const RequestPtr& request);

// Checks the one-time token or the bearer before the body of a callback is read. Spends nothing: of two requests with
// the same token both may be let in, and the handler decides.
void check_head(const RequestPtr& request);

}  // namespace sluice::api::executions
