// Workflows and their runs, in a workspace: for service keys, and for sandboxes that may look at and change workflows.
#pragma once

#include "api/routes.h"

namespace sluice::api::workflows {

void list_workflows(const Asked& asked);
void create_workflow(const Asked& asked);
void get_workflow(const Asked& asked);
void update_workflow(const Asked& asked);
void delete_workflow(const Asked& asked);

void start_run(const Asked& asked);
void list_runs(const Asked& asked);
void get_run(const Asked& asked);
void stream_run(const Asked& asked);
void cancel_run(const Asked& asked);

}  // namespace sluice::api::workflows
