// The tools of an agent: those of its sandbox, webhooks, MCP servers, scripts that call other tools, those of the
// client, and those that ask a human. Here is how they are described to a model, what the agent's policy says of a
// call, and how a round of calls is carried out and reported, each as one step of the run.
//
// Called on the loop's thread. Which calls are made is decided by the native loop or by an agent program.
#pragma once

#include "tools/ask_tools.h"        // IWYU pragma: export
#include "tools/call_round.h"       // IWYU pragma: export
#include "tools/call_state.h"       // IWYU pragma: export
#include "tools/egress_approval.h"  // IWYU pragma: export
#include "tools/mcp_endpoint.h"     // IWYU pragma: export
#include "tools/options.h"          // IWYU pragma: export
#include "tools/run_toolbox.h"      // IWYU pragma: export
#include "tools/sandbox_tools.h"    // IWYU pragma: export
#include "tools/tool_policy.h"      // IWYU pragma: export
#include "tools/toolbox.h"          // IWYU pragma: export
