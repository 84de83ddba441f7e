#include "sandbox/drivers.h"

#include <array>

#include "sandbox/machine.h"
#include "sandbox/plan.h"

namespace sluice::sandbox {

std::string_view name_of(ExitCause cause) {
  constexpr std::array<std::string_view, 9> names = {"exited",     "killed",        "timed_out",
                                                     "stopped",    "out_of_memory", "cpu_limit",
                                                     "file_limit", "not_started",   "box_lost"};
  return names[static_cast<std::size_t>(cause)];
}

Result<std::unique_ptr<Sandbox>> open_sandbox(SandboxOptions options, world::Reactor& reactor, world::Log& log,
                                              world::Metrics& metrics) {
  if (options.driver == "namespaces") return open_namespaces_sandbox(std::move(options), reactor, log, metrics);
  if (options.driver == "oci") return open_oci_sandbox(std::move(options), reactor, log);
  return Error{ErrorKind::invalid, "there is no sandbox driver '" + options.driver + "': use namespaces or oci"};
}

std::string describe_plan(const SandboxOptions& options, const BoxRequest& request) {
  const auto plan = make_plan(options, request, probe_machine(options));
  return plan ? describe(plan.value()) : "no plan: " + plan.error().what + "\n";
}

std::vector<Ability> probe_abilities(const SandboxOptions& options) {
  const Machine machine = probe_machine(options);
  return options.driver == "oci" ? oci_abilities(options, machine) : abilities_of(machine, options.limits);
}

}  // namespace sluice::sandbox
