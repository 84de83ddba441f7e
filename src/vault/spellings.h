// How one value may be written where it turns up again. Each spelling is what must be looked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::vault {

// Sorted, each once, none shorter than value_bytes_min. White space around the value is no part of them: whatever
// holds the value holds the value without it.
std::vector<std::string> spellings_of(std::string_view value);

}  // namespace sluice::vault
