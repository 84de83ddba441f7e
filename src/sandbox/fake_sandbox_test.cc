#include "sandbox/fake_sandbox.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>

#include "world/fake_world.h"

namespace sluice::sandbox {
namespace fake_sandbox_test {

struct Heard final : ProcessListener {
  void on_output(Stream stream, std::string_view bytes) override { (stream == Stream::out ? out : err) += bytes; }
  void on_exit(Exit how) override { exit = std::move(how); }
  std::string out, err;
  std::optional<Exit> exit;
};

class FakeSandboxes : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(directory); }
  std::unique_ptr<Box> open(BoxRequest request = {}) {
    std::unique_ptr<Box> opened;
    sandbox.open(std::move(request), [&](Result<std::unique_ptr<Box>> box) { opened = std::move(box).take(); });
    loop.settle();
    return opened;
  }
  const std::string directory = testing::TempDir() + "fake_sandbox_" + std::to_string(getpid());
  world::FakeLoop loop;
  FakeSandbox sandbox{loop, directory};
};

TEST_F(FakeSandboxes, Answer_commands_by_their_script) {
  auto box = open();
  sandbox.script = [](FakeBox&, const Command& command) {
    return FakeResult{.out = command.argv.at(1), .exit = {.code = 3}};
  };
  Heard heard;
  auto process = box->start({.argv = {"echo", "hi"}}, heard);
  EXPECT_FALSE(heard.exit) << "nothing comes from inside start()";
  loop.settle();
  EXPECT_EQ(heard.out, "hi");
  ASSERT_TRUE(heard.exit);
  EXPECT_EQ(heard.exit->code, 3);
}

TEST_F(FakeSandboxes, Hold_back_output_while_paused_and_end_at_the_timeout) {
  auto box = open();
  sandbox.script = [](FakeBox&, const Command&) { return FakeResult{.out = "x", .hangs = true}; };
  Heard heard;
  auto process = box->start({.argv = {"sleep"}, .timeout_ms = 100}, heard);
  process->pause(true);
  loop.advance({200});
  EXPECT_EQ(heard.out, "");
  process->pause(false);
  loop.settle();
  EXPECT_EQ(heard.out, "x");
  ASSERT_TRUE(heard.exit);
  EXPECT_EQ(heard.exit->cause, ExitCause::timed_out);
}

TEST_F(FakeSandboxes, Fail_to_open_lose_boxes_and_delay_kills_when_told) {
  sandbox.open_fails_with = Error{ErrorKind::unavailable, "no"};
  bool failed = false;
  sandbox.open({}, [&](Result<std::unique_ptr<Box>> box) { failed = !box; });
  loop.settle();
  EXPECT_TRUE(failed);

  auto box = open();
  sandbox.script = [](FakeBox&, const Command&) { return FakeResult{.hangs = true}; };
  Heard heard;
  auto process = box->start({.argv = {"sleep"}}, heard);
  std::string lost;
  box->on_lost([&](std::string what) { lost = std::move(what); });
  sandbox.boxes.at(0)->lose("gone");
  loop.settle();
  EXPECT_EQ(lost, "gone");
  ASSERT_TRUE(heard.exit);
  EXPECT_EQ(heard.exit->cause, ExitCause::box_lost);

  sandbox.hold_kills = true;
  bool dead = false;
  box->kill([&](const Result<Unit>& proof) { dead = static_cast<bool>(proof); });
  loop.settle();
  EXPECT_FALSE(dead);
  sandbox.release_kills();
  loop.settle();
  EXPECT_TRUE(dead);
}

TEST_F(FakeSandboxes, Keep_what_is_written_to_a_command) {
  auto box = open();
  sandbox.script = [](FakeBox&, const Command&) { return FakeResult{.hangs = true}; };
  Heard heard;
  const auto kept = box->start({.argv = {"agent"}, .keeps_input = true}, heard);
  const auto plain = box->start({.argv = {"cat"}, .input = "all"}, heard);
  loop.settle();
  const auto& states = sandbox.boxes.at(0)->commands;
  kept->write("one ");
  kept->write("two");
  EXPECT_FALSE(states.at(0)->input_closed);
  kept->close_input();
  kept->write(" three");
  EXPECT_EQ(states.at(0)->input, "one two");
  EXPECT_TRUE(states.at(0)->input_closed);
  EXPECT_EQ(kept->unwritten_bytes(), 0U);
  plain->write("more");
  EXPECT_EQ(states.at(1)->input, "");
  EXPECT_TRUE(states.at(1)->input_closed);
}

TEST_F(FakeSandboxes, Give_out_the_listener_of_the_test_once) {
  EXPECT_FALSE(open()->take_egress_listener()) << "no test said what to give out";
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const OwnedFd ours(ends[0]);
  sandbox.egress_listener = [&](FakeBox&) { return OwnedFd(ends[1]); };
  auto box = open();
  EXPECT_FALSE(sandbox.boxes.at(0)->egress_taken);
  EXPECT_EQ(box->take_egress_listener().get(), ends[1]);
  EXPECT_TRUE(sandbox.boxes.at(0)->egress_taken);
  EXPECT_FALSE(box->take_egress_listener());
}

TEST_F(FakeSandboxes, Give_out_the_bridge_of_the_test_once) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const OwnedFd ours(ends[0]);
  sandbox.bridge_listener = [&](FakeBox&) { return OwnedFd(ends[1]); };
  auto box = open();
  EXPECT_FALSE(sandbox.boxes.at(0)->bridge_taken);
  EXPECT_EQ(box->take_bridge_listener().get(), ends[1]);
  EXPECT_TRUE(sandbox.boxes.at(0)->bridge_taken);
  EXPECT_FALSE(box->take_bridge_listener());
}

TEST_F(FakeSandboxes, Show_the_layers_in_the_workspace) {
  std::filesystem::create_directories(directory + "/layer");
  std::ofstream(directory + "/layer/a.txt") << "a";
  auto box = open({.layers = {directory + "/layer"}});
  EXPECT_EQ(faccessat(box->workspace_fd(), "a.txt", F_OK, 0), 0);
}

}  // namespace fake_sandbox_test
}  // namespace sluice::sandbox
