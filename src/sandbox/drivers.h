// The drivers that open_sandbox() of sandbox.h chooses from. Called from the loop's thread.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/plan.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

Result<std::unique_ptr<Sandbox>> open_namespaces_sandbox(SandboxOptions options, world::Reactor& reactor,
                                                         world::Log& log, world::Metrics& metrics);
Result<std::unique_ptr<Sandbox>> open_oci_sandbox(SandboxOptions options, world::Reactor& reactor, world::Log& log);

// The abilities that `sluice doctor` prints for the driver `oci`.
std::vector<Ability> oci_abilities(const SandboxOptions& options, const Machine& machine);

}  // namespace sluice::sandbox
