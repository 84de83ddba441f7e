// What a server that starts says of the damage it will meet.
#pragma once

#include "app/config.h"
#include "world/world.h"

namespace sluice::app {

// Looks at the runs that are not over, which are few: the rest is for `sluice store verify`. Each that is damaged is
// named in the log; the server serves all others.
void log_damage(const Config& config, const std::string& data_dir, world::Log& log);

}  // namespace sluice::app
