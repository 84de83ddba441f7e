// Carries out dispatches on this machine: a native agent's by the loop in src/native, an agent program's by
// src/programs. It builds what they share and answers for what runs leave behind: kept sandboxes, parked runs,
// workspaces.
//
// Called on the loop's thread. The journal, clients, and who may run are the engine's business.
#pragma once

#include <memory>
#include <string>

#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "inference/inference.h"
#include "native/native.h"
#include "net/net.h"
#include "programs/programs.h"
#include "sandbox/sandbox.h"
#include "sessions/sessions.h"
#include "tools/tools.h"
#include "workspace/workspace.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::runner {

// Those of each module under one name.
struct RunnerOptions : inference::Options, tools::Options, native::Options {
  programs::ProgramOptions programs;
  sessions::SessionOptions sessions;
};

struct RunnerNeeds {
  net::Client& client;
  world::Loop& loop;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
  // All three or none: without a sandbox, an agent has no tools of a sandbox.
  sandbox::Sandbox* sandbox = nullptr;
  workspace::Watcher* watcher = nullptr;
  world::Workers* workers = nullptr;
  egress::Egress* egress = nullptr;         // null: nothing leaves a sandbox
  sessions::ServeBridge serve_bridge = {};  // empty: what runs in a sandbox reaches no tools of the host
  tools::SignWebhook sign_webhook = {};     // empty: no tool is called by webhook
  // Threads for the jobs of a run, so that tenants take turns; null: `workers` do all.
  world::SharedWorkers* shared_workers = nullptr;
};

// The needs must outlive the dispatcher and all its work. One at a time for one state_dir: it clears away what a
// killed server left there.
std::unique_ptr<dispatch::Dispatcher> make_native_runner(RunnerOptions options, RunnerNeeds needs);

}  // namespace sluice::runner
