// What this machine can do, found out by looking and trying.
#pragma once

#include <vector>

#include "sandbox/plan.h"

namespace sluice::sandbox {

Machine probe_machine(const SandboxOptions& options);

// The same for people.
std::vector<Ability> abilities_of(const Machine& machine, const Limits& limits);

}  // namespace sluice::sandbox
