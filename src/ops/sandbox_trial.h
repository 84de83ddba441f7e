// Makes one sandbox and runs a command in it, to find out whether this machine can. Removes it again. Blocks.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "world/world.h"

namespace sluice::ops {

struct SandboxTrial {
  int64_t took_us = 0;  // from the request for the sandbox to the command's end
  std::string driver;
  sandbox::Exit exit;
  std::string out;
  std::string err;
};

// Uses a temporary state directory instead of that of `options`. `unavailable`, with the reason, if no sandbox can be
// made.
Result<SandboxTrial> try_in_sandbox(sandbox::SandboxOptions options, sandbox::BoxRequest request,
                                    sandbox::Command command);

// Runs `true` and describes how it went: "cold, in 3.1 ms (driver namespaces)".
Result<std::string> try_sandbox(const sandbox::SandboxOptions& options);
// Uses this driver, which is closed afterwards.
Result<std::string> try_sandbox(world::Reactor& reactor, sandbox::Sandbox& sandbox);

}  // namespace sluice::ops
