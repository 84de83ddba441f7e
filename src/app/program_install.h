// Puts an agent program, at the version that its dialect was tested with or another, into a directory that boxes see
// read-only.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/dialect.h"

namespace sluice::app {

// Beside an installed program: {"agent_type","package","version"}. Written last: where it is, the program is whole.
inline constexpr std::string_view program_record = "sluice-program.json";

// Fetches it by npm into DIRECTORY/TYPE, whole or not at all; what is there is replaced at once. Packages' own scripts
// are not run. `version` is exact; empty: the tested one. Errors say what is missing, and what to do.
Result<Unit> install_program(const harness::Program& tested, const std::string& directory,
                             std::string_view version = {});

// Whether it is one version, as npm spells it, and not a range or a tag.
bool is_exact_version(std::string_view text);

}  // namespace sluice::app
