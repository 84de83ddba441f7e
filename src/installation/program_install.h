// Installs an agent program into a directory that sandboxes see read-only, at the version that its dialect was tested
// with or at another one. Blocks while npm runs, so only the commands of operators use it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/harness.h"

namespace sluice::installation {

// Installs the program into DIRECTORY/TYPE by npm, completely or not at all; an existing one is replaced atomically.
// The packages' own scripts are not run. `version` is exact; empty: the tested version. Errors say what is missing and
// what to do about it.
Result<Unit> install_program(const harness::Program& tested, const std::string& directory,
                             std::string_view version = {});

// Whether the text is one version in npm's spelling, not a range or a tag.
bool is_exact_version(std::string_view text);

}  // namespace sluice::installation
