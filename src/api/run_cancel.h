// Ending a run before it ends itself: the tenant's own, or any for the operator.
#pragma once

#include "api/routes.h"
#include "model/model.h"

namespace sluice::api {

// Answers when nothing of the run is left at work.
void cancel_run_of(const Asked& asked, model::TenantId tenant, model::RunId run);

}  // namespace sluice::api
