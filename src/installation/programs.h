// The agent programs (Claude Code, Codex, …) of this machine: which exist, where they are, and whether sandsandboxes
// see them.
//
// A program that `sluice harness install` installed (program_install.h) is preferred. Otherwise the program in PATH is
// used if it is in a directory that sandsandboxes see: below /usr or below one of sandbox.extra_paths. Functions here
// read the file system and may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "harness/harness.h"
#include "runner/runner.h"
#include "sandbox/sandbox.h"

namespace sluice::installation {

using config::Config;

// The record beside an installed program: {"agent_type","package","version"}. It is written last, so the program is
// complete if the record exists.
inline constexpr std::string_view program_record = "sluice-program.json";

enum class ProgramPlace : uint8_t {
  installed,  // in harness.dir
  path,       // found in PATH, and sandsandboxes see it
  hidden,     // found in PATH, but sandsandboxes do not see it
  missing,
};
std::string_view name_of(ProgramPlace place);

struct FoundProgram {
  const harness::Program* program = nullptr;
  ProgramPlace place = ProgramPlace::missing;
  std::string folder;      // if it is installed
  std::string file;        // on this machine; empty: missing
  std::string in_sandbox;  // its path in a sandbox; empty: sandsandboxes do not see it
  std::string version;     // empty: only known by starting it

  bool is_usable() const { return !in_sandbox.empty(); }
  bool is_tested() const { return version.empty() || version == program->version; }
  // For people: its version and path, and whether something is unusual about it.
  std::string describe() const;
};

// The absolute path of harness.dir, or its default below the data directory.
std::string harness_dir(const Config& config, const std::string& data_dir);

// Looks for one program; `path` is the value of PATH.
FoundProgram look_for(const harness::Program& program, const sandbox::SandboxOptions& sandboxes, std::string_view path);
// Looks for every known program.
std::vector<FoundProgram> look_for_programs(const sandbox::SandboxOptions& sandboxes);

// The program for agents of this type; empty: sandsandboxes see no such program.
std::optional<programs::ProgramOptions::Place> place_of(const std::string& agent_type,
                                                        const sandbox::SandboxOptions& sandboxes);

}  // namespace sluice::installation
