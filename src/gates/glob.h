// Patterns in which `*` stands for anything, against texts of which parts may be unknown.
#pragma once

#include <string_view>

#include "gates/steps.h"

namespace sluice::gates {

// Stands in a text for any characters, also none: what a variable or a wildcard of the shell would become.
inline constexpr char unknown = '\0';

// Whatever the unknown parts are, `text` matches. A pattern that ends in " *" also matches what has nothing there.
// False, too, when the steps are used up before it is known.
bool glob_matches(std::string_view pattern, std::string_view text, Steps& steps);
// The unknown parts may be such that `text` matches. True when the steps are used up before it is known.
bool glob_may_match(std::string_view pattern, std::string_view text, Steps& steps);

}  // namespace sluice::gates
