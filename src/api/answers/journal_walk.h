// Reads a run's journal, event by event.
#pragma once

#include "api/request/request_context.h"

namespace sluice::api {

// Shows every event after `after` to `see`, until that says false or there is none left, and then tells the run as
// it is. What goes wrong is told to the caller.
void walk_journal(const RequestPtr& request, model::RunId run, model::Position after,
                  Callback<bool(const store::Committed&)> see, Callback<void(const model::Run&)> done);

}  // namespace sluice::api
