// What the native loop and agent programs share: everything one run works with, and the form in which a run that waits
// for a human is kept.
#pragma once

#include "agents/checkpoint_json.h"  // IWYU pragma: export
#include "agents/run_context.h"      // IWYU pragma: export
#include "agents/run_filler.h"       // IWYU pragma: export
