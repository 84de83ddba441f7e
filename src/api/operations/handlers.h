// What operators and lost readers find: health, figures, the pages that problems point at, this
// server's own description.
#pragma once

#include <string_view>

#include "api/routes.h"

namespace sluice::api::operations {

void get_health(const Asked& asked);
void get_readiness(const Asked& asked);
void get_metrics(const Asked& asked);

void list_problems(const Asked& asked);
void get_problem(const Asked& asked);
void get_home(const Asked& asked);
void get_openapi(const Asked& asked);
void get_docs(const Asked& asked);

}  // namespace sluice::api::operations
