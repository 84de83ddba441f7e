// A runner with nothing faked but the model: a real box, a real watcher, real files.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/fake_client.h"
#include "runner/runner_fixture.h"

namespace sluice::runner {

class RealSession : public testing::Test {
 protected:
  RealSession() {
    std::signal(SIGPIPE, SIG_IGN);  // as the server does: a command may close its input
    std::string pattern = testing::TempDir() + "real-handsXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    state_dir = pattern;
    std::filesystem::permissions(state_dir, std::filesystem::perms(0755));
    reactor = world::make_reactor().take();
    sandbox::SandboxOptions made{.state_dir = state_dir, .warm_target = 1};
    auto opened = sandbox::open_sandbox(made, *reactor, log, metrics);
    SLUICE_CHECK(bool(opened));
    sandbox = std::move(opened).take();
    watcher = workspace::make_watcher(*reactor, metrics).take();
    workers = world::make_workers(*reactor, 2);
    client = std::make_unique<net::FakeClient>(*reactor);
    options.sessions.state_dir = state_dir;
    options.sessions.owner_uid = geteuid() == 0 ? made.host_uid : geteuid();
    heard.after_end = [this] { reactor->stop(); };
  }
  ~RealSession() override {
    work.reset();
    runner.reset();
    sandbox->close([this] { reactor->stop(); });
    reactor->run();
    egress.reset();
    workers.reset();
    watcher.reset();
    sandbox.reset();
    EXPECT_TRUE(workspace::remove_tree(state_dir));
  }

  // To its end, well or not.
  void run_any(std::string prompt) {
    heard.events.clear();
    heard.usage.reset();
    heard.problem.reset();
    dispatch::Dispatch dispatch;
    dispatch.run.ulid.bytes[15] = ++run_count;
    dispatch.conversation.ulid.bytes[15] = 1;
    dispatch.agent.model = {.provider = "offline", .name = "offline"};
    dispatch.agent.limits.max_runtime_seconds = 60;
    dispatch.agent.kit = kit;
    dispatch.materials = materials;
    dispatch.prompt = std::move(prompt);
    if (!runner) {
      runner = make_native_runner(options, {*client, *reactor, entropy, log, metrics, sandbox.get(), watcher.get(),
                                            workers.get(), egress.get()});
    }
    work = runner->dispatch(std::move(dispatch), heard);
    reactor->run();
  }
  void run(std::string prompt) {
    run_any(std::move(prompt));
    ASSERT_FALSE(heard.problem) << heard.problem->detail;
  }
  // From now on sandboxes have a way out.
  void open_egress(egress::EgressOptions wishes = {}) {
    wishes.ca_dir = state_dir + "/egress";
    egress = egress::make_egress(std::move(wishes), *reactor, *workers, entropy, log, metrics).take();
  }
  bool was_told(model::EventKind kind, std::string_view words) const {
    for (const auto& body : heard.bodies(kind)) {
      if (body.find(words) != std::string::npos) return true;
    }
    return false;
  }

  std::string state_dir;
  world::FakeLog log;
  world::FakeEntropy entropy;
  world::Metrics metrics;
  std::unique_ptr<world::Reactor> reactor;
  std::unique_ptr<sandbox::Sandbox> sandbox;
  std::unique_ptr<workspace::Watcher> watcher;
  std::unique_ptr<world::Workers> workers;
  std::unique_ptr<egress::Egress> egress;  // null: nothing leaves a sandbox
  std::unique_ptr<net::FakeClient> client;
  RunnerOptions options;
  dispatch::Materials materials;
  model::AgentKit kit;
  HeardDispatch heard;
  std::unique_ptr<dispatch::Dispatcher> runner;
  std::unique_ptr<dispatch::Work> work;
  uint8_t run_count = 0;
};

}  // namespace sluice::runner
