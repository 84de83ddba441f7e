// Reads the journal of a run event by event, a page at a time. Called from the loop's thread.
#pragma once

#include "api/request/request_context.h"

namespace sluice::api {

// Calls `see` with every event after `after` until it returns false or there are no more, then `done` with the run.
// Answers the request if the journal cannot be read.
void walk_journal(const RequestPtr& request, model::RunId run, model::Position after,
                  Callback<bool(const journal::Committed&)> see, Callback<void(const model::Run&)> done);

}  // namespace sluice::api
