// Which OCI runtime there is, and how it is called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/control_groups.h"
#include "sandbox/plan.h"

namespace sluice::sandbox {

struct OciRuntime {
  std::string path;                // absolute
  std::string name;                // "crun"
  std::string state_dir;           // where it keeps what it knows of containers
  std::string groups_path;         // in which the containers' control groups are made; empty: none are
  std::vector<std::string> hides;  // mounts of the host that it stumbles over

  std::vector<std::string> run_command(const std::string& id, const std::string& bundle, const std::string& log) const;
};

// `unavailable` when there is none, or none that can work here, with what to do about it.
Result<OciRuntime> find_runtime(const SandboxOptions& options, const Machine& machine);

// Where below its hierarchy's top `directory` (of a control group) lies: "/" is the top itself.
// Empty where hierarchies are mounted elsewhere than usual, as a runtime would not find them.
std::string path_in_hierarchy(const std::string& directory, ControlGroups kind);

// Does the runtime complain that a control group vanished while it was at work? Anybody who tidies
// up empty groups can do that to it; the next attempt makes them afresh.
bool lost_its_group(std::string_view complaint);

// Runtimes make groups in every hierarchy and leave the empty ones above their own behind. Only
// when none is at work any more: it would find the group gone that it just made.
void remove_left_groups(const OciRuntime& runtime);

// The same for what servers left that are gone.
void reap_groups_elsewhere(const OciRuntime& runtime, const Machine& machine);

// Makes the runtime forget containers of an earlier life, as many as it can in that time. Returns how many are left for
// the next start.
int reap_left_containers(const OciRuntime& runtime, Millis all_of_them);

}  // namespace sluice::sandbox
