// The AG-UI surface, one address: POST starts or continues a run, GET finds a run or a thread again, DELETE cancels a
// run. A client that disconnects changes nothing.
#pragma once

#include "api/request/route.h"

namespace sluice::api::agui {

void start_run(const RequestPtr& request);
void find_again(const RequestPtr& request);
void cancel(const RequestPtr& request);

}  // namespace sluice::api::agui
