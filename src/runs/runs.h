// What all work on one run has in common, whichever kind of agent carries it out: the events that it emits, without the
// values of secrets; text made of bytes that come in pieces; a clock and a client that stand still while the run is
// suspended; jobs on other threads whose answer may come too late.
//
// Everything here is called on the loop's thread. It knows no sandbox session, no tool and no model.
#pragma once

#include "runs/base_url.h"       // IWYU pragma: export
#include "runs/event_output.h"   // IWYU pragma: export
#include "runs/lifeline.h"       // IWYU pragma: export
#include "runs/off_loop.h"       // IWYU pragma: export
#include "runs/output_text.h"    // IWYU pragma: export
#include "runs/paragraphs.h"     // IWYU pragma: export
#include "runs/replay.h"         // IWYU pragma: export
#include "runs/run_clock.h"      // IWYU pragma: export
#include "runs/run_events.h"     // IWYU pragma: export
#include "runs/scrubbed_text.h"  // IWYU pragma: export
#include "runs/text_lines.h"     // IWYU pragma: export
