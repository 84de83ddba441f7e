// One box, made and used, to see whether this machine can.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace sluice::app {

// How it went, in words: "cold, in 3.1 ms (driver namespaces)". Nothing of it is left.
Result<std::string> try_a_box(const sandbox::SandboxOptions& options);

}  // namespace sluice::app
