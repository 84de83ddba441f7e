// The AG-UI surface: one address where a client starts a run and goes on with it (POST), finds it again or its thread
// (GET), and cancels it (DELETE). A client that leaves changes nothing.
#pragma once

#include "api/routes.h"

namespace sluice::api::agui {

void start_run(const Asked& asked);
void find_again(const Asked& asked);
void cancel(const Asked& asked);

}  // namespace sluice::api::agui
