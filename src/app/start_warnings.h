// Warnings that a server logs at its start: about damaged runs, and about tenants whose approvals need no signature.
#pragma once

#include <string>

#include "config/config.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::app {

// Inspects the unfinished runs and logs each damaged one; the server serves all others. `sluice store verify` inspects
// the rest of the store. Blocks.
void log_damage(const config::Config& config, const std::string& data_dir, world::Log& log);

// Logs one line that names the tenants where the service key alone approves through AG-UI; nothing if there are none.
// `store` and `log` must outlive the loop on which the store answers.
void warn_of_unsigned_approvals(store::Store& store, world::Log& log);

}  // namespace sluice::app
