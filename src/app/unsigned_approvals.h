// A warning at each start about tenants whose approvals are decided without a signature: whoever has the service key
// approves there, through AG-UI.
#pragma once

#include "store/store.h"
#include "world/world.h"

namespace sluice::app {

// One line in the log for all of them, once the store has listed its tenants; none where there is no such tenant.
// Both must outlive the loop that the answers come on.
void warn_of_unsigned_approvals(store::Store& store, world::Log& log);

}  // namespace sluice::app
