// Everything that executes agents on this machine: the sandbox driver, worker threads for files, the watch on
// workspaces, egress, and the runner that uses them. `serve` and `runner` have one each. Used from the loop's thread
// only.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "net/net.h"
#include "runner/runner.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::app {

// All of them must outlive the runtime.
struct AgentRuntimeNeeds {
  world::Reactor& reactor;
  net::Client& client;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
  tools::SignWebhook sign_webhook = nullptr;  // null: tools cannot be called by webhook
};

class AgentRuntime final {
 public:
  // Fails if sandbox.driver names a driver that this machine cannot run.
  static Result<std::unique_ptr<AgentRuntime>> open(const config::Config& config, const std::string& data_dir,
                                                    AgentRuntimeNeeds needs);

  dispatch::Dispatcher& dispatcher() { return *dispatcher_; }
  bool has_sandbox() const { return sandbox_ != nullptr; }
  world::SharedWorkers& workers() { return *shared_workers_; }
  // Calls `done` when no sandbox is left.
  void close(Callback<void()> done);

 private:
  AgentRuntime() = default;
  Result<Unit> open_sandbox(const config::Config& config, const std::string& data_dir, sandbox::SandboxOptions& options,
                            AgentRuntimeNeeds& needs);

  std::unique_ptr<sandbox::Sandbox> sandbox_;  // null: agents have no tools
  std::unique_ptr<workspace::Watcher> watcher_;
  std::unique_ptr<world::Workers> workers_;
  std::unique_ptr<world::SharedWorkers> shared_workers_;
  std::unique_ptr<world::Workers> resolvers_;  // separate, because a name lookup can take seconds and would delay files
  std::unique_ptr<egress::Egress> egress_;     // null: without a sandbox no egress is needed
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
};

}  // namespace sluice::app
