// What an agent may do by itself, as a caller says it.
#pragma once

#include "api/fields.h"

namespace sluice::api::integration {

// `policy`: at most 100 of {"effect", exactly one of "tool", "command", "file", "host", "reason"?, "secrets"?}.
// Null: none. Empty when it is not given.
std::optional<model::Policy> read_policy(const Fields& fields);

}  // namespace sluice::api::integration
