// One box, made and used, to see whether this machine can. Nothing of it is left.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "world/world.h"

namespace sluice::app {

struct BoxTrial {
  int64_t took_us = 0;  // from asking for the box to the command's end
  std::string driver;
  sandbox::Exit exit;
  std::string out;
  std::string err;
};

// In a state directory of its own, whatever `options` have. `unavailable`, in words, when there is no box.
Result<BoxTrial> try_in_a_box(sandbox::SandboxOptions options, sandbox::BoxRequest request, sandbox::Command command);

// How it went, in words: "cold, in 3.1 ms (driver namespaces)".
Result<std::string> try_a_box(const sandbox::SandboxOptions& options);
// The same in this sandbox, which is closed afterwards.
Result<std::string> try_a_box(world::Reactor& reactor, sandbox::Sandbox& sandbox);

}  // namespace sluice::app
