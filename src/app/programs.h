// The agent programs of this machine: which are here, where, and whether boxes see them.
//
// Installed ones come first (program_install.h); else what PATH leads to is used, if it lies where boxes see it: below
// /usr, or one of sandbox.extra_paths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "harness/dialect.h"
#include "runner/runner.h"
#include "sandbox/sandbox.h"

namespace sluice::app {

enum class ProgramPlace : uint8_t {
  installed,  // in harness.dir
  path,       // found in PATH, and boxes see it
  hidden,     // found in PATH, and boxes do not see it
  missing,
};
std::string_view name_of(ProgramPlace place);

struct FoundProgram {
  const harness::Program* program = nullptr;
  ProgramPlace place = ProgramPlace::missing;
  std::string folder;   // of an installed one
  std::string file;     // on this machine; empty: missing
  std::string in_box;   // as a box sees it; empty: it does not
  std::string version;  // empty: not known without starting it

  bool is_usable() const { return !in_box.empty(); }
  bool is_tested() const { return version.empty() || version == program->version; }
  // For people: where it is, and what is odd about it.
  std::string words() const;
};

// Absolute: harness.dir, or its place below the data directory.
std::string harness_dir(const Config& config, const std::string& data_dir);

// `path` is PATH as the environment has it.
FoundProgram look_for(const harness::Program& program, const sandbox::SandboxOptions& boxes, std::string_view path);
// All that are known.
std::vector<FoundProgram> look_for_programs(const sandbox::SandboxOptions& boxes);

// For a run of an agent of this type; empty: sandboxes see no such program.
std::optional<programs::ProgramOptions::Place> place_of(const std::string& agent_type,
                                                        const sandbox::SandboxOptions& boxes);

}  // namespace sluice::app
