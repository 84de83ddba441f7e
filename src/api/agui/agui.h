// The AG-UI surface: one address where a client starts a run and goes on with it (POST), finds it again or its thread
// (GET), and cancels it (DELETE). A client that leaves changes nothing.
#pragma once

#include "api/request/route.h"

namespace sluice::api::agui {

void start_run(const RequestPtr& request);
void find_again(const RequestPtr& request);
void cancel(const RequestPtr& request);

}  // namespace sluice::api::agui
