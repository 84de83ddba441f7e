// A command of the operator's, run on the host itself: never anything that a tenant chose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::sessions {

// Blocks until it ended; kills it when it takes longer than `ms_max`. What it prints goes nowhere. An
// error when it could not be started, did not end well or not in time.
Result<Unit> run_host_command(const std::vector<std::string>& argv, const std::string& input, int64_t ms_max);

}  // namespace sluice::sessions
