// The surface of workflows: definitions, runs and their streams.
#pragma once

#include "api/request/route.h"

namespace sluice::api::workflows {

void list_workflows(const RequestPtr& request);
void create_workflow(const RequestPtr& request);
void get_workflow(const RequestPtr& request);
void update_workflow(const RequestPtr& request);
void delete_workflow(const RequestPtr& request);

void start_run(const RequestPtr& request);
void list_runs(const RequestPtr& request);
void get_run(const RequestPtr& request);
void stream_run(const RequestPtr& request);
void cancel_run(const RequestPtr& request);

}  // namespace sluice::api::workflows
