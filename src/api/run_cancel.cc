#include "api/run_cancel.h"

#include "api/request_context.h"

namespace sluice::api {

void cancel_run_of(const Asked& asked, model::TenantId tenant, model::RunId run) {
  asked->set_run(run);
  asked->engine().cancel(tenant, run, [asked](const std::variant<model::Run, model::Problem>& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return asked->problem(*problem);
    asked->answer_json(200, model::to_json(std::get<model::Run>(outcome)));
  });
}

}  // namespace sluice::api
