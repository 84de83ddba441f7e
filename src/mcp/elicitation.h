// What a server wants to know from the user while it works (elicitation/create). No human is there to fill a form in;
// a form whose every field has a default is accepted with the defaults, any other one is declined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace sluice::mcp {

inline constexpr std::size_t form_fields_max = 64;

// The response to the request `id`, both JSON.
std::string answer_to_elicitation(std::string_view id, json::Value params);

}  // namespace sluice::mcp
