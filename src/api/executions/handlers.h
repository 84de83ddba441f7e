// Executions: dispatches to runners elsewhere, what they ask back with their one-time tokens, and
// what they hand back (S-3, S-4, S-12).
#pragma once

#include "api/routes.h"

namespace sluice::api::executions {

void create_execution(const Asked& asked);
void list_files(const Asked& asked);

// With a one-time token, bare in Authorization.
void get_env(const Asked& asked);
void get_config(const Asked& asked);
void take_results(const Asked& asked);

// With the execution's bearer.
void list_skills(const Asked& asked);
void get_skill(const Asked& asked);
void get_files(const Asked& asked);

}  // namespace sluice::api::executions
