#include "api/admin/handlers.h"
#include "api/request_context.h"
#include "api/run_cancel.h"

namespace sluice::api::admin {

void cancel_run(const Asked& asked) {
  const auto tenant = asked->path_id<model::TenantId>();
  const auto run = asked->path_id<model::RunId>(1);
  if (!tenant || !run) return asked->not_found();
  cancel_run_of(asked, *tenant, *run);
}

}  // namespace sluice::api::admin
