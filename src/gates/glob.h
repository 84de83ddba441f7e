// Patterns in which `*` stands for anything, against texts of which parts may be unknown.
#pragma once

#include <string_view>

namespace sluice::gates {

// Stands in a text for any characters, also none: what a variable or a wildcard of the shell would become.
inline constexpr char unknown = '\0';

// Whatever the unknown parts are, `text` matches. A pattern that ends in " *" also matches what has nothing there.
bool glob_matches(std::string_view pattern, std::string_view text);
// The unknown parts may be such that `text` matches.
bool glob_may_match(std::string_view pattern, std::string_view text);

}  // namespace sluice::gates
