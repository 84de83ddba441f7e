// The whole way with nothing faked but the model: a real box, a real watcher, real files.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "net/fake_client.h"
#include "runner/runner_fixture.h"

namespace sluice::runner {
namespace {

using model::EventKind;

class RealHands : public testing::Test {
 protected:
  RealHands() {
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
    options.hands.state_dir = state_dir;
    options.hands.owner_uid = geteuid() == 0 ? made.host_uid : geteuid();
    heard.after_end = [this] { reactor->stop(); };
    runner = make_native_runner(
        options, {*client, *reactor, entropy, log, metrics, sandbox.get(), watcher.get(), workers.get()});
  }
  ~RealHands() override {
    work.reset();
    runner.reset();
    sandbox->close([this] { reactor->stop(); });
    reactor->run();
    workers.reset();
    watcher.reset();
    sandbox.reset();
    EXPECT_TRUE(workspace::remove_tree(state_dir));
  }

  // To its end.
  void run(std::string prompt) {
    heard.events.clear();
    heard.usage.reset();
    heard.problem.reset();
    harness::Dispatch dispatch;
    dispatch.run.ulid.bytes[15] = ++run_count;
    dispatch.conversation.ulid.bytes[15] = 1;
    dispatch.agent.model = {.provider = "offline", .name = "offline"};
    dispatch.agent.limits.max_runtime_seconds = 60;
    dispatch.materials = materials;
    dispatch.prompt = std::move(prompt);
    work = runner->dispatch(std::move(dispatch), heard);
    reactor->run();
    ASSERT_FALSE(heard.problem) << heard.problem->detail;
  }
  bool was_told(EventKind kind, std::string_view words) const {
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
  std::unique_ptr<net::FakeClient> client;
  RunnerOptions options;
  harness::Materials materials;
  HeardDispatch heard;
  std::unique_ptr<harness::Dispatcher> runner;
  std::unique_ptr<harness::Work> work;
  uint8_t run_count = 0;
};

TEST_F(RealHands, Every_tool_does_what_it_says) {
  run("write notes/a.txt: hello\nedit notes/a.txt: hello -> goodbye\nread notes/a.txt\nsay read {{last}}\n"
      "call grep {\"pattern\":\"GOOD.ye\",\"ignore_case\":true}\nsay grep {{last}}\n"
      "call glob {\"pattern\":\"**/*.txt\"}\nsay glob {{last}}\n"
      "call list {\"path\":\"notes\"}\nsay list {{last}}\n"
      "$ pwd; echo $WORKSPACE_DIR; cat notes/a.txt; echo oops >&2; exit 3\nsay bash {{last}}\n"
      "read missing.txt\nsay {{last}}");
  EXPECT_TRUE(heard.text().starts_with("read goodbye\n")) << heard.text();
  EXPECT_NE(heard.text().find("notes/a.txt:1:goodbye"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("list a.txt\t7"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("bash /workspace\n/workspace\ngoodbye"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("oops\n"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("exit code 3"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("missing.txt"), std::string::npos) << heard.text();
}

// H-4, H-5
TEST_F(RealHands, Files_are_told_live_and_the_diff_at_the_end) {
  run("write a.txt: one\n$ mkdir -p deep/er; echo two > deep/er/b.txt; echo three >> a.txt; sync\n"
      "edit a.txt: one -> uno\n$ rm deep/er/b.txt");
  EXPECT_TRUE(was_told(EventKind::file, R"("type":"create","path":"a.txt")"));
  EXPECT_TRUE(was_told(EventKind::file, R"("path":"deep/er/b.txt")"));
  EXPECT_FALSE(was_told(EventKind::file, ".sluice-edit-")) << "how a file is written is nobody's business";
  ASSERT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  EXPECT_TRUE(was_told(EventKind::diff, "+uno"));
  EXPECT_FALSE(was_told(EventKind::diff, "b.txt")) << "it came and went";
}

TEST_F(RealHands, The_next_run_finds_what_the_last_one_left) {
  run("write a.txt: one\nwrite gone.txt: x");
  run("$ rm gone.txt\n$ cat a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "one");
  run("$ ls\nsay {{last}}");
  EXPECT_EQ(heard.text(), "a.txt");
}

TEST_F(RealHands, The_setup_script_and_the_variables_are_there) {
  materials.variables = {{"GREETING", "salut"}};
  materials.setup_script = "echo \"$GREETING\" > hi.txt\nfalse || true\n";
  run("read hi.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "salut");
}

TEST_F(RealHands, What_runs_in_the_background_ends_with_the_run) {
  run("call bash {\"command\":\"echo up; exec sleep 600\",\"background\":true}\n$ echo beside\nsay {{last}}");
  EXPECT_EQ(heard.text(), "beside");
}

TEST_F(RealHands, A_flood_is_cut_and_the_run_goes_on) {
  run("$ head -c 50000000 /dev/zero | tr '\\0' y\nsay ok {{last}}");
  EXPECT_TRUE(was_told(EventKind::output, "output cut: more than 4194304 bytes"));
  EXPECT_NE(heard.text().find("bytes left out"), std::string::npos);
}

}  // namespace
}  // namespace sluice::runner
