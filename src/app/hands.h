// What lets agents act, in one piece: threads for files, the watch on them, the sandbox, and the
// runner that uses all three. The same for `serve` and for `runner`.
#pragma once

#include <memory>
#include <string>

#include "app/config.h"
#include "egress/egress.h"
#include "harness/harness.h"
#include "net/net.h"
#include "runner/runner.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::app {

struct HandsNeeds {
  world::Reactor& reactor;
  net::Client& client;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
  tools::SignWebhook sign_webhook = nullptr;  // none: no tool is called by webhook
};

sandbox::SandboxOptions sandbox_options(const Config& config, const std::string& data_dir);
// `invalid`, in words, when a name or an address is none.
Result<egress::EgressOptions> egress_options(const Config& config, const std::string& data_dir);
// "ALIAS HOST USERNAME PASSWORD" each; `invalid`, without quoting any, when one is not.
Result<Unit> check_git_credentials(const Config& config);

class Hands final {
 public:
  // Fails where sandbox.driver asks for what this machine cannot do.
  static Result<std::unique_ptr<Hands>> open(const Config& config, const std::string& data_dir, HandsNeeds needs);

  harness::Dispatcher& dispatcher() { return *dispatcher_; }
  bool has_sandbox() const { return sandbox_ != nullptr; }
  world::SharedWorkers& workers() { return *shared_workers_; }
  // No box is left then.
  void close(Callback<void()> done);

 private:
  Hands() = default;

  std::unique_ptr<sandbox::Sandbox> sandbox_;  // null: agents have no tools
  std::unique_ptr<workspace::Watcher> watcher_;
  std::unique_ptr<world::Workers> workers_;
  std::unique_ptr<world::SharedWorkers> shared_workers_;
  std::unique_ptr<world::Workers> resolvers_;  // looking up a name can take seconds; files must not wait for it
  std::unique_ptr<egress::Egress> egress_;     // null: without a sandbox nothing needs a way out of it
  std::unique_ptr<harness::Dispatcher> dispatcher_;
};

}  // namespace sluice::app
