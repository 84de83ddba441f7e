// `sluice runner`: takes dispatches by POST /stream and carries them, for any workspace that answers
// the callbacks. It has no database; its data directory holds only what boxes are made of.
#pragma once

#include <string_view>

#include "app/config.h"

namespace sluice::app {

// Until it is told to stop. Gives the exit code.
int run_runner(const Config& config, std::string_view version);

}  // namespace sluice::app
