// When a run counts as cancelled.
#pragma once

#include "model/records.h"

namespace sluice::model {

// A run whose work is still being stopped counts as well: from the request on, nothing more is taken from it or given
// to it.
constexpr bool is_cancelled(RunState state) { return state == RunState::finishing || state == RunState::cancelled; }

}  // namespace sluice::model
