// What a dispatch means for its first question to the model. Pure.
#pragma once

#include <string_view>

#include "dispatch/dispatch.h"
#include "models/models.h"

namespace sluice::native {

// The conversation so far and the message; no tools yet.
models::Prompt prompt_of(const dispatch::Dispatch& dispatch);
// What the dispatch brings along that works in a sandbox only, in words; empty: nothing.
std::string_view needs_of_sandbox(const dispatch::Dispatch& dispatch);

}  // namespace sluice::native
