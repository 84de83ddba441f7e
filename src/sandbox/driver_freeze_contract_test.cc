// A frozen sandbox: every process in it stops, and goes on where it was.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "sandbox/driver_contract.h"

namespace sluice::sandbox {
namespace driver_freeze_contract_test {

using DriverFreeze = DriverContract;

// "R", "S", "T" …; empty: it is gone.
std::string state_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto at = stat.rfind(')');
  return at == std::string::npos ? "" : stat.substr(at + 2, 1);
}

// Who has called vfork() waits in the kernel ("D") until its child calls exec, which a child that is stopped does not.
bool stands_still(int pid) {
  const auto state = state_of(pid);
  return state == "T" || state == "D";
}

bool all_are_stopped(const std::string& mark) {
  const auto processes = processes_with(mark);
  return !processes.empty() && std::ranges::all_of(processes, stands_still);
}

void pass(BoxStory& story, int64_t ms) {
  bool passed = false;
  const auto timer = story.reactor().after({ms}, [&] {
    passed = true;
    story.nudge();
  });
  story.until([&] { return passed; }, "time to pass");
}

TEST_P(DriverFreeze, Everything_inside_stops_and_goes_on_where_it_was) {
  BoxStory story(options());
  const auto box = story.open();
  const std::string mark = marker();
  Heard heard(story);
  // A shell, one that left its session, and a storm of children.
  const auto process =
      box->start(sh(": " + mark + "; setsid sh -c ': " + mark +
                    "; while :; do /bin/true; done' & i=0; while :; do i=$((i+1)); echo $i; sleep 0.01; done"),
                 heard);
  story.until([&] { return heard.out.size() > 10; }, "it to be at work");
  box->freeze(true);
  story.until([&] { return all_are_stopped(mark); }, "all of them to stop");
  pass(story, 100);  // what was in the pipe is read
  const auto printed = heard.out;
  pass(story, 300);
  EXPECT_TRUE(all_are_stopped(mark));
  EXPECT_EQ(heard.out, printed);
  box->freeze(false);
  story.until([&] { return heard.out.size() > printed.size() + 10; }, "it to go on");
  std::string expected;
  for (int i = 1; expected.size() < heard.out.size(); ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(heard.out, expected.substr(0, heard.out.size())) << "nothing was lost or done twice";
  EXPECT_EQ(story.run(*box, sh("echo on")).out, "on\n");
}

TEST_P(DriverFreeze, A_command_that_is_started_meanwhile_waits) {
  BoxStory story(options());
  const auto box = story.open();
  box->freeze(true);
  Heard first(story);
  Heard second(story);
  Heard stopped(story);
  auto command = sh("cat; echo one");
  command.input = "input\n";
  command.timeout_ms = 60'000;
  const auto one = box->start(std::move(command), first);
  const auto two = box->start(sh("echo two"), second);
  const auto other = box->start(sh("echo three"), stopped);
  other->stop();
  story.until([&] { return stopped.exit.has_value(); }, "the one that was stopped before it began");
  EXPECT_EQ(stopped.exit->cause, ExitCause::stopped);
  pass(story, 200);
  EXPECT_FALSE(first.exit || second.exit);
  box->freeze(false);
  story.until([&] { return first.exit && second.exit; }, "them to run");
  EXPECT_EQ(first.out, "input\none\n");
  EXPECT_EQ(second.out, "two\n");
  EXPECT_EQ(stopped.out, "");
}

TEST_P(DriverFreeze, The_time_of_a_command_stands_still) {
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  auto command = sh("echo up; read line; echo done");
  command.keeps_input = true;
  command.timeout_ms = 60'000;
  const auto process = box->start(std::move(command), heard);
  story.until([&] { return heard.out == "up\n"; }, "it to be up");
  Heard short_one(story);
  auto brief = sh("sleep 1000");
  brief.timeout_ms = 2'000;
  const auto late = box->start(std::move(brief), short_one);
  box->freeze(true);
  pass(story, 2'500);
  EXPECT_FALSE(short_one.exit) << "its two seconds are not over";
  box->freeze(false);
  process->write("go\n");
  story.until([&] { return heard.exit && short_one.exit; }, "both ends");
  EXPECT_EQ(heard.out, "up\ndone\n");
  EXPECT_EQ(short_one.exit->cause, ExitCause::timed_out);
}

TEST_P(DriverFreeze, What_is_frozen_can_be_stopped_and_killed) {
  BoxStory story(options());
  const auto box = story.open();
  const std::string mark = marker();
  Heard heard(story);
  Heard other(story);
  const auto process = box->start(sh("echo up; sleep " + mark), heard);
  const auto rest = box->start(sh("echo up; sleep " + mark), other);
  story.until([&] { return !heard.out.empty() && !other.out.empty(); }, "them to be up");
  box->freeze(true);
  process->stop();
  story.until([&] { return heard.exit.has_value(); }, "the end of the one that was stopped");
  EXPECT_EQ(heard.exit->cause, ExitCause::stopped);
  story.kill(*box);
  story.until([&] { return processes_with(mark).empty(); }, "nothing to be left");
  EXPECT_EQ(other.exit->cause, ExitCause::stopped);
}

INSTANTIATE_TEST_SUITE_P(Drivers, DriverFreeze, testing::ValuesIn(drivers_here()), driver_name);

}  // namespace driver_freeze_contract_test
}  // namespace sluice::sandbox
