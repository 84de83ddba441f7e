// Limits: each is enforced where it is reached and reported with its cause, and the sandbox stays usable.
#include "sandbox/driver_contract.h"

namespace sluice::sandbox {
namespace driver_limit_contract_test {

using DriverLimits = DriverContract;

TEST_P(DriverLimits, Memory_is_told_as_out_of_memory) {
  SandboxOptions small = options();
  small.limits.memory_bytes_max = 96LL << 20;
  BoxStory story(small);
  const auto box = story.open();
  // tail keeps a whole line, and this one does not end.
  const Ran ran = story.run(*box, {.argv = {"tail", "/dev/zero"}});
  if (story.can("memory limit of a box")) {
    EXPECT_EQ(ran.exit.cause, ExitCause::out_of_memory) << ran.err;
  } else {
    EXPECT_NE(ran.exit.code, 0);  // each process has its own limit then: tail says "memory exhausted"
  }
  EXPECT_EQ(story.run(*box, sh("echo on")).out, "on\n");
}

TEST_P(DriverLimits, Processor_time_is_told_as_cpu_limit) {
  SandboxOptions small = options();
  small.limits.cpu_seconds_max = 1;
  BoxStory story(small);
  const auto box = story.open();
  const Ran ran = story.run(*box, sh("while :; do :; done"));
  EXPECT_EQ(ran.exit.cause, ExitCause::cpu_limit) << name_of(ran.exit.cause) << " " << ran.exit.code;
  // The kernel ends a command by the ticks that find it running, and reports its time by the scheduler's clock.
  // Neighbours that work for less than a tick leave their ticks to it, so its second may be over after 750 ms of that
  // clock. This tells a second from a tick, a minute and none at all; what is reported of any command is held to the
  // command's own measure elsewhere (An_exit_tells_how_and_what_it_cost).
  EXPECT_GE(ran.exit.cpu_ms, 400);
  EXPECT_LE(ran.exit.cpu_ms, 2500);
}

TEST_P(DriverLimits, A_file_too_big_is_told_as_file_limit) {
  SandboxOptions small = options();
  small.limits.file_bytes_max = 4 << 20;
  BoxStory story(small);
  const auto box = story.open();
  const Ran ran = story.run(*box, {.argv = {"dd", "if=/dev/zero", "of=big", "bs=1M", "count=20"}});
  EXPECT_EQ(ran.exit.cause, ExitCause::file_limit) << name_of(ran.exit.cause) << " " << ran.exit.code << ran.err;
  EXPECT_EQ(story.run(*box, sh("stat -c %s big")).out, "4194304\n");
}

TEST_P(DriverLimits, Processes_end_at_their_number) {
  SandboxOptions small = options();
  small.limits.processes_max = 30;
  BoxStory story(small);
  const auto box = story.open();
  const Ran ran = story.run(*box, sh("for i in $(seq 60); do sleep 100 & done; echo all"));
  EXPECT_EQ(ran.out.find("all"), std::string::npos) << "sixty processes where thirty were allowed";
  story.run(*box, sh("kill -9 -1"));
  EXPECT_EQ(story.run(*box, sh("echo on")).out, "on\n");
}

TEST_P(DriverLimits, The_workspace_is_full_at_its_size) {
  SandboxOptions small = options();
  small.limits.workspace_bytes_max = 8 << 20;
  small.limits.workspace_files_max = 100;
  BoxStory story(small);
  const auto box = story.open();
  const Ran bytes = story.run(*box, sh("head -c 20000000 /dev/zero > big"));
  EXPECT_NE(bytes.exit.code, 0);
  EXPECT_NE(bytes.err.find("No space left"), std::string::npos) << bytes.err;
  EXPECT_EQ(story.run(*box, sh("rm big; echo fits > small")).exit.code, 0);
  const Ran files = story.run(*box, sh("i=0; while [ $i -lt 200 ] && true > f$i; do i=$((i+1)); done; echo $i"));
  EXPECT_LT(std::stoi(files.out), 101) << files.out;
}

TEST_P(DriverLimits, The_temporary_directory_is_full_at_its_size) {
  SandboxOptions small = options();
  small.limits.tmp_bytes_max = 4 << 20;
  BoxStory story(small);
  const auto box = story.open();
  EXPECT_NE(story.run(*box, sh("head -c 10000000 /dev/zero > /tmp/big")).exit.code, 0);
  EXPECT_EQ(story.run(*box, sh("rm /tmp/big; head -c 1000000 /dev/zero > /tmp/fits")).exit.code, 0);
}

TEST_P(DriverLimits, Each_ability_says_what_its_lack_means) {
  BoxStory story(options());
  ASSERT_FALSE(story.sandbox().abilities().empty());
  for (const Ability& ability : story.sandbox().abilities()) {
    EXPECT_FALSE(ability.name.empty());
    if (!ability.there) EXPECT_FALSE(ability.means.empty()) << ability.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, DriverLimits, testing::ValuesIn(drivers_here()), driver_name);

// ── what no driver is needed for ──

TEST(OpenSandbox, An_unknown_driver_is_refused_by_name) {
  auto reactor = world::make_reactor();
  ASSERT_TRUE(reactor);
  world::FakeLog log;
  world::Metrics metrics;
  const auto opened = open_sandbox({.driver = "magic", .state_dir = "/tmp"}, *reactor.value(), log, metrics);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("magic"), std::string::npos) << opened.error().what;
  EXPECT_NE(opened.error().what.find("namespaces"), std::string::npos) << opened.error().what;
}

TEST(OpenSandbox, A_runtime_that_is_not_there_is_named) {
  auto reactor = world::make_reactor();
  ASSERT_TRUE(reactor);
  world::FakeLog log;
  world::Metrics metrics;
  const auto opened = open_sandbox({.driver = "oci", .state_dir = "/tmp", .oci_runtime = "no-such-runtime"},
                                   *reactor.value(), log, metrics);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  EXPECT_NE(opened.error().what.find("no-such-runtime"), std::string::npos) << opened.error().what;
}

// A claim of a warm sandbox is the same sandbox, only sooner.
TEST(WarmBoxes, Are_used_once_and_are_fresh) {
  SandboxOptions options = options_for("namespaces");
  options.warm_target = 1;
  BoxStory story(options);
  bool was_warm = false;
  for (int i = 0; i < 20; ++i) {
    const auto box = story.open({.environment = {{"N", std::to_string(i)}}});
    was_warm = was_warm || box->was_warm();
    EXPECT_EQ(story.run(*box, sh("echo $N; ls /workspace /tmp ~; touch /workspace/x /tmp/x ~/x")).out,
              std::to_string(i) + "\n/home/agent:\n\n/tmp:\n\n/workspace:\n");
    story.kill(*box);
  }
  EXPECT_TRUE(was_warm);
}

}  // namespace driver_limit_contract_test
}  // namespace sluice::sandbox
