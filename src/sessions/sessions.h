// Sandbox sessions: the sandbox in which one run works, from the layers of its conversation's workspace to the layer
// that it leaves behind. Here are the sandbox between runs, its way out and its bridge to the host's tools, the
// commands that run in it, what is put into it (repository, skills, uploaded files), and the layers on disk with what
// they take of it.
//
// Called on the loop's thread; what blocks runs on workers. What is run, and why, is decided by tools and agents.
#pragma once

#include "sessions/bridge.h"           // IWYU pragma: export
#include "sessions/changed_paths.h"    // IWYU pragma: export
#include "sessions/command_run.h"      // IWYU pragma: export
#include "sessions/disk_usage.h"       // IWYU pragma: export
#include "sessions/file_notifier.h"    // IWYU pragma: export
#include "sessions/host_command.h"     // IWYU pragma: export
#include "sessions/kept_sandboxes.h"   // IWYU pragma: export
#include "sessions/layer_bytes.h"      // IWYU pragma: export
#include "sessions/layers.h"           // IWYU pragma: export
#include "sessions/live_sandbox.h"     // IWYU pragma: export
#include "sessions/options.h"          // IWYU pragma: export
#include "sessions/sandbox_session.h"  // IWYU pragma: export
