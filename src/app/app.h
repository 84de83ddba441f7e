// The two long-running processes: `sluice serve` and `sluice runner`. Each reads its configuration, builds every part,
// passes each part its dependencies, and runs one event loop on the calling thread until SIGTERM or SIGINT.
//
// This module makes no decision about a run, a request or a row: it only connects the modules that do.
#pragma once

#include <string_view>

#include "config/config.h"

namespace sluice::app {

using config::Config;

// Runs the server until it is stopped. Returns the exit code. `program` is the name that the program was called by, for
// the commands in hints.
int serve(const Config& config, std::string_view version, std::string_view program);

// Runs a runner until it is stopped. Returns the exit code. A runner executes dispatches from POST /stream for any
// workspace that answers the callbacks. It has no database; its data directory holds only the files of sandboxes.
int run_runner(const Config& config, std::string_view version);

}  // namespace sluice::app
