// The loop of native agents (native_loop.h): asks the model, emits what it says, carries out its tool calls, and asks
// again until the model is done.
#pragma once

#include "native/native_loop.h"  // IWYU pragma: export
