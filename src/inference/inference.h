// Questions to models: which provider an agent's choice leads to and with which key, one answer as it streams in (from
// a provider, or from the offline model), why there was none, and the fillers that bridge a model's silence.
//
// Called on the loop's thread. What a question says, and whether it is asked again, is decided by the caller.
#pragma once

#include "inference/filler.h"      // IWYU pragma: export
#include "inference/model_call.h"  // IWYU pragma: export
#include "inference/options.h"     // IWYU pragma: export
#include "inference/providers.h"   // IWYU pragma: export
