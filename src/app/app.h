// Reads the configuration, builds every part and hands each its needs. Nothing else in the house
// knows where a value comes from or who its neighbours are.
#pragma once

#include <string_view>

#include "app/config.h"

namespace sluice::app {

// The server, until it is told to stop. Gives the exit code. `program` is how it was called, for hints.
int serve(const Config& config, std::string_view version, std::string_view program);

// What this machine and this configuration can and cannot do. Gives the exit code: 1 when something
// that is needed is missing.
enum class Form : uint8_t { human, json };
int doctor(const Config& config, Form form);

}  // namespace sluice::app
