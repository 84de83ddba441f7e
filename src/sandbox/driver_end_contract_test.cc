// Ends: of commands, of sandboxes, of the server. What is said to be dead is looked for from outside.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "sandbox/driver_contract.h"

namespace sluice::sandbox {
namespace driver_end_contract_test {

using DriverEnds = DriverContract;

// A program that outlives its shell, its group and SIGTERM, twice.
std::string daemons(const std::string& mark) {
  return "for i in 1 2; do setsid sh -c 'trap \"\" TERM HUP INT; sleep " + mark +
         "' >/dev/null 2>&1 </dev/null & done; ";
}

TEST_P(DriverEnds, A_timeout_kills_the_whole_group) {
  BoxStory story(options());
  const auto box = story.open();
  const std::string mark = marker();
  Command command = sh("trap '' TERM; sleep " + mark + " & sleep " + mark);
  command.timeout_ms = 300;
  const Ran ran = story.run(*box, std::move(command));
  EXPECT_EQ(ran.exit.cause, ExitCause::timed_out);
  story.until([&] { return processes_with("sleep" + std::string(1, '\0') + mark).empty(); }, "its group to be gone");
  EXPECT_EQ(story.run(*box, sh("echo on")).out, "on\n");
}

TEST_P(DriverEnds, Stop_asks_and_then_insists) {
  BoxStory story(options());
  const auto box = story.open();
  for (const std::string script : {"trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 0.01; done",
                                   "trap '' TERM; echo up; while :; do sleep 0.01; done"}) {
    Heard heard(story);
    const auto process = box->start(sh(script), heard);
    story.until([&] { return !heard.out.empty(); }, "it to be up");
    process->stop();
    story.until([&] { return heard.exit.has_value(); }, "it to stop");
    EXPECT_EQ(heard.exit->cause, ExitCause::stopped);
    EXPECT_EQ(heard.out.find("asked") != std::string::npos, script.find("asked") != std::string::npos);
  }
}

TEST_P(DriverEnds, A_dropped_process_dies_unless_it_is_in_the_background) {
  BoxStory story(options());
  const auto box = story.open();
  const std::string plain = marker();
  const std::string background = marker();
  {
    Heard heard(story);
    const auto one = box->start(sh("sleep " + plain + " & sleep " + plain), heard);
    Command command = {.argv = {"sleep", background}};
    command.background = true;
    const auto other = box->start(std::move(command), heard);
    story.until([&] { return processes_with(plain).size() >= 2 && !processes_with(background).empty(); }, "both");
  }
  story.until([&] { return processes_with(plain).empty(); }, "the dropped one's end");
  EXPECT_EQ(story.run(*box, sh("true")).exit.code, 0);
  EXPECT_EQ(processes_with(background).size(), 1U);
}

// S-10
TEST_P(DriverEnds, Kill_is_proven_whatever_ran) {
  BoxStory story(options());
  const auto box = story.open();
  const std::string mark = marker();
  EXPECT_EQ(story.run(*box, sh(daemons(mark) + "true")).exit.code, 0);
  Heard heard(story);
  const auto process = box->start({.argv = {"sleep", mark}}, heard);
  story.until([&] { return processes_with(mark).size() >= 3; }, "all to run");
  story.kill(*box);
  EXPECT_TRUE(processes_with(mark).empty());
  story.until([&] { return heard.exit.has_value(); }, "the command to hear of it");
  EXPECT_EQ(heard.exit->cause, ExitCause::stopped);
  // Afterwards a command is refused, not lost.
  EXPECT_EQ(story.run(*box, sh("true")).exit.cause, ExitCause::box_lost);
}

TEST_P(DriverEnds, A_fork_bomb_is_killed_whole) {
  SandboxOptions few = options();
  few.limits.processes_max = 100;
  BoxStory story(few);
  const auto box = story.open();
  const std::string mark = marker();
  Heard heard(story);
  heard.keep_bytes_max = 0;
  const auto process = box->start(sh("bomb() { sh -c 'sleep " + mark + "' & bomb | bomb & }; bomb"), heard);
  story.until([&] { return processes_with(mark).size() >= 10; }, "it to go off");
  story.kill(*box);
  EXPECT_TRUE(processes_with(mark).empty());
}

TEST_P(DriverEnds, Killing_everything_inside_leaves_a_box_that_answers) {
  BoxStory story(options());
  const auto box = story.open();
  story.run(*box, sh("kill -9 -1"));
  EXPECT_EQ(story.run(*box, sh("kill -9 1; kill -STOP 1; echo on")).out, "on\n");
  EXPECT_EQ(story.run(*box, sh("echo and on")).out, "and on\n");
}

TEST_P(DriverEnds, A_box_that_goes_away_by_itself_is_told_once) {
  BoxStory story(options());
  const auto box = story.open();
  int lost = 0;
  std::string why;
  box->on_lost([&](std::string what) {
    ++lost;
    why = std::move(what);
    story.nudge();
  });
  const std::string mark = marker();
  Heard heard(story);
  const auto process = box->start({.argv = {"sleep", mark}}, heard);
  story.until([&] { return !processes_with(mark).empty(); }, "it to run");
  const int init = init_of(processes_with(mark).front());
  ASSERT_GT(init, 1);
  ASSERT_EQ(::kill(init, SIGKILL), 0);
  story.until([&] { return lost > 0 && heard.exit; }, "the news");
  EXPECT_EQ(lost, 1);
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(heard.exit->cause, ExitCause::box_lost);
  story.kill(*box);
  EXPECT_EQ(lost, 1);
}

TEST_P(DriverEnds, A_dropped_box_dies) {
  BoxStory story(options());
  const std::string mark = marker();
  {
    const auto box = story.open();
    EXPECT_EQ(story.run(*box, sh(daemons(mark) + "true")).exit.code, 0);
    story.until([&] { return processes_with(mark).size() >= 2; }, "it to run");
  }
  story.until([&] { return processes_with(mark).empty(); }, "it to be dead");
}

TEST_P(DriverEnds, Close_kills_every_box_and_opens_no_more) {
  BoxStory story(options());
  const std::string mark = marker();
  const auto one = story.open();
  const auto two = story.open();
  for (Box* box : {one.get(), two.get()}) EXPECT_EQ(story.run(*box, sh(daemons(mark) + "true")).exit.code, 0);
  story.until([&] { return processes_with(mark).size() >= 4; }, "all to run");
  story.close();
  EXPECT_TRUE(processes_with(mark).empty());
  EXPECT_FALSE(story.try_open({}));
}

// Boxes of a server that was killed must not outlive it for longer than the next one takes to start.
TEST_P(DriverEnds, A_killed_server_leaves_nothing_that_its_successor_does_not_reap) {
  const std::string mark = marker();
  SandboxOptions shared = options();
  std::string pattern = std::filesystem::temp_directory_path() / "sluice-life-XXXXXX";
  shared.state_dir = mkdtemp(pattern.data());
  const pid_t server = fork();
  if (server == 0) {
    BoxStory story(shared);
    const auto box = story.open();
    story.run(*box, sh(daemons(mark) + "true"));
    story.until([] { return false; }, "its own end");
    _exit(1);
  }
  ASSERT_GT(server, 0);
  BoxStory watcher(options());
  watcher.until([&] { return processes_with(mark).size() >= 2; }, "the first life's box");
  ::kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  {
    BoxStory successor(shared);
    successor.until([&] { return processes_with(mark).empty(); }, "the leftovers to be reaped");
    const auto box = successor.open();
    EXPECT_EQ(successor.run(*box, sh("echo hi")).out, "hi\n");
  }
  std::filesystem::remove_all(shared.state_dir);
}

TEST_P(DriverEnds, Boxes_do_not_see_each_other) {
  BoxStory story(options());
  const auto one = story.open();
  const auto two = story.open();
  const std::string mark = marker();
  EXPECT_EQ(story.run(*one, sh("echo x | tee /workspace/mine /tmp/mine ~/mine; " + daemons(mark))).exit.code, 0);
  EXPECT_EQ(story.run(*two, sh("ls /workspace /tmp ~ | grep mine")).out, "");
  EXPECT_EQ(story.run(*two, sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep '[t]rap'")).out, "");
  story.run(*two, sh("kill -9 -1"));
  EXPECT_FALSE(processes_with(mark).empty());
}

TEST_P(DriverEnds, A_thousand_commands_and_fifty_sandboxes_leave_no_descriptor_open) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  BoxStory story(options());
  {
    const auto first = story.open();
  }
  const auto before = open_descriptors();
  const int boxes = GetParam() == "namespaces" ? 50 : 5;
  for (int b = 0; b < boxes; ++b) {
    const auto box = story.open();
    for (int i = 0; i < 20; ++i) ASSERT_EQ(story.run(*box, {.argv = {"true"}}).exit.code, 0);
    story.kill(*box);
  }
  story.until([&] { return open_descriptors() <= before + 2; }, "descriptors to be closed");
}

INSTANTIATE_TEST_SUITE_P(, DriverEnds, testing::ValuesIn(drivers_here()), driver_name);

}  // namespace driver_end_contract_test
}  // namespace sluice::sandbox
