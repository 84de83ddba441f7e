// Sandboxes that do not answer: a caller that waits for one gets an error in the end, and can stop waiting before.
//
// What does not answer is a process that was sent SIGSTOP. Time does not pass by itself here: a loop of the test's own
// keeps all long waits until the test says that they are over.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/box_story_fixture.h"
#include "sandbox/box_supervisor.h"

namespace sluice::sandbox {
namespace patience_test {

namespace fs = std::filesystem;
using Opened = std::optional<Result<std::unique_ptr<Box>>>;

class HeldReactor final : public world::Reactor, private world::Timer::Keeper {
 public:
  Timestamp now() const override { return real_->now(); }
  int64_t monotonic_us() const override { return real_->monotonic_us() + passed_us_; }
  world::Timer after(Millis delay, Callback<void()> then) override {
    if (delay.value < 1'000) return real_->after(delay, std::move(then));
    held_[++last_ticket_] = {passed_us_ + delay.value * 1000, std::move(then)};
    return {*this, last_ticket_};
  }
  void defer(Callback<void()> then) override { real_->defer(std::move(then)); }
  void post(Callback<void()> then) override { real_->post(std::move(then)); }
  void run() override { real_->run(); }
  void stop() override { real_->stop(); }
  std::unique_ptr<world::Watch> watch(int fd, world::Watch::Interest interest,
                                      Callback<void(world::Ready)> when) override {
    struct stat what{};
    const bool is_line = fstat(fd, &what) == 0 && S_ISSOCK(what.st_mode);
    if (!is_deaf_ || !is_line) return real_->watch(fd, interest, std::move(when));
    auto later = std::make_unique<LaterWatch>(*this, fd, interest, std::move(when));
    deaf_.push_back(later.get());
    return later;
  }

  // Nothing is heard on the lines that are made from now on, until it may be.
  void be_deaf(bool deaf) {
    is_deaf_ = deaf;
    if (deaf) return;
    for (LaterWatch* const one : std::exchange(deaf_, {})) one->begin();
  }
  bool has_deaf_line() const { return !deaf_.empty(); }

  // Calls those back whose time has come by then, but for those that they begin.
  void pass(Millis span) {
    passed_us_ += span.value * 1000;
    std::vector<uint64_t> due;
    for (const auto& [ticket, held] : held_) {
      if (held.due_us <= passed_us_) due.push_back(ticket);
    }
    for (const uint64_t ticket : due) {
      if (auto held = held_.extract(ticket)) held.mapped().then();
    }
  }

 private:
  struct Held {
    int64_t due_us = 0;  // by the time that the test let pass alone, so that a busy machine makes no difference
    Callback<void()> then;
  };
  class LaterWatch final : public world::Watch {
   public:
    LaterWatch(HeldReactor& of, int fd, Interest interest, Callback<void(world::Ready)> when)
        : of_(of), fd_(fd), interest_(interest), when_(std::move(when)) {}
    ~LaterWatch() override { std::erase(of_.deaf_, this); }
    void want(Interest interest) override {
      interest_ = interest;
      if (real_) real_->want(interest);
    }
    void begin() { real_ = of_.real_->watch(fd_, interest_, std::move(when_)); }

   private:
    HeldReactor& of_;
    const int fd_;
    Interest interest_;
    Callback<void(world::Ready)> when_;
    std::unique_ptr<world::Watch> real_;
  };
  void forget(uint64_t ticket) override { held_.erase(ticket); }

  const std::unique_ptr<world::Reactor> real_ = world::make_reactor().take();
  std::map<uint64_t, Held> held_;
  uint64_t last_ticket_ = 0;
  int64_t passed_us_ = 0;
  bool is_deaf_ = false;
  std::vector<LaterWatch*> deaf_;
};

// The processes of that name below this one.
std::vector<pid_t> named(const std::string& name) {
  std::vector<pid_t> found;
  std::vector<pid_t> parents = {getpid()};
  while (!parents.empty()) {
    const pid_t next = parents.back();
    parents.pop_back();
    std::ifstream children("/proc/" + std::to_string(next) + "/task/" + std::to_string(next) + "/children");
    for (pid_t child = 0; children >> child;) {
      parents.push_back(child);
      std::string comm;
      std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm"), comm);
      if (comm == name) found.push_back(child);
    }
  }
  return found;
}

// Those that were stopped. A process that was just forked has its parent's name for a moment, so none of them is found
// by its name again.
std::vector<pid_t> stop_all(const std::string& name) {
  auto all = named(name);
  EXPECT_FALSE(all.empty()) << name;
  for (const pid_t process : all) EXPECT_EQ(::kill(process, SIGSTOP), 0);
  return all;
}

void resume(const std::vector<pid_t>& stopped) {
  for (const pid_t process : stopped) EXPECT_EQ(::kill(process, SIGCONT), 0);
}

class Patience : public testing::Test {
 protected:
  void begin(int warm_target) {
    auto reactor = std::make_unique<HeldReactor>();
    clock = reactor.get();
    SandboxOptions options;
    options.warm_target = warm_target;
    story = std::make_unique<BoxStory>(options, std::move(reactor));
    story->until([&] { return story->sandbox().warm_available() == warm_target; }, "the pool to be full");
  }
  uint64_t ask() {
    return story->sandbox().open({.name = "run_1"}, [this](Result<std::unique_ptr<Box>> box) {
      opened = std::move(box);
      story->nudge();
    });
  }
  // Of the next one nothing is heard.
  void lose_zygote() {
    clock->be_deaf(true);
    for (const pid_t zygote : named("sluice-zygote")) EXPECT_EQ(::kill(zygote, SIGKILL), 0);
    story->until([&] { return clock->has_deaf_line(); }, "the next one");
  }
  bool is_logged(const std::string& words) const {
    return std::ranges::any_of(story->log_lines(), [&](const auto& line) { return line.find(words) != line.npos; });
  }
  bool is_figure(const std::string& line) const {
    return story->metrics().to_text().find(line + "\n") != std::string::npos;
  }

  HeldReactor* clock = nullptr;
  Opened opened;
  std::unique_ptr<BoxStory> story;
};

TEST_F(Patience, a_ready_sandbox_that_does_not_answer_is_killed_after_ten_seconds_and_another_one_is_opened) {
  begin(1);
  const auto stopped = named("sluice-init");
  stop_all("sluice-init");
  ask();
  clock->pass({9'999});
  EXPECT_FALSE(is_logged("tried again"));
  clock->pass({1});
  EXPECT_TRUE(
      is_logged("warn sandbox tried again sandbox=run_1 why=waited 10 s for its first process to lay out the "
                "workspace"))
      << story->log_lines().back();
  story->until([&] { return opened.has_value(); }, "another one");
  ASSERT_TRUE(*opened);
  EXPECT_EQ(story->run(*opened->value(), sh("echo on")).out, "on\n");
  story->until(
      [&] {
        const auto left = named("sluice-init");
        return std::ranges::none_of(stopped, [&](pid_t one) { return std::ranges::count(left, one) > 0; });
      },
      "the one that did not answer to be dead");
}

TEST_F(Patience, an_opening_is_given_up_at_once_whatever_state_its_sandbox_is_in) {
  begin(1);
  stop_all("sluice-init");
  const uint64_t opening = ask();
  story->sandbox().give_up(opening);
  EXPECT_FALSE(opened) << "not from inside the call";
  story->until([&] { return opened.has_value(); }, "the answer");
  EXPECT_FALSE(*opened);
  EXPECT_FALSE(is_logged("tried again")) << "no other sandbox is wanted";
  story->sandbox().give_up(opening);  // too late: no effect
  opened.reset();
  ask();
  story->until([&] { return opened.has_value(); }, "the next opening");
  ASSERT_TRUE(*opened);
  EXPECT_EQ(story->run(*opened->value(), sh("echo on")).out, "on\n");
}

TEST_F(Patience, an_opening_is_given_up_at_once_while_its_sandbox_is_not_even_built) {
  begin(0);
  const auto zygotes = stop_all("sluice-zygote");
  story->sandbox().give_up(ask());
  story->until([&] { return opened.has_value(); }, "the answer");
  EXPECT_FALSE(*opened);
  resume(zygotes);
  story->until([&] { return is_figure("sluice_sandbox_live 0"); }, "what was built for it to be gone");
}

TEST_F(Patience, a_sandbox_that_is_never_built_fails_its_opening_with_what_was_waited_for) {
  begin(0);
  const auto zygotes = stop_all("sluice-zygote");
  ask();
  story->until(
      [&] {
        clock->pass(opening_patience);
        return opened.has_value();
      },
      "the answer");
  ASSERT_FALSE(*opened);
  EXPECT_EQ(opened->error().what, "waited 10 s for its first process to be started");
  EXPECT_TRUE(is_logged("error sandbox not opened sandbox=run_1"));
  resume(zygotes);
  opened.reset();
  ask();
  story->until([&] { return opened.has_value(); }, "the next opening");
  ASSERT_TRUE(*opened);
  story->until(
      [&] {
        clock->pass(opening_patience);
        return is_figure("sluice_sandbox_live 1");
      },
      "what came too late to be gone");
  EXPECT_EQ(story->run(*opened->value(), sh("echo on")).out, "on\n");
}

// The server goes on while it waits for the next one.
TEST_F(Patience, openings_wait_while_another_process_that_builds_sandboxes_is_started) {
  begin(0);
  lose_zygote();
  ask();
  const auto unwanted = story->sandbox().open({.name = "run_2"}, [&](Result<std::unique_ptr<Box>> box) {
    EXPECT_EQ(box.error().what, "the sandbox is not wanted any more");
    story->nudge();
  });
  story->sandbox().give_up(unwanted);
  clock->pass({9'999});
  EXPECT_FALSE(opened);
  clock->be_deaf(false);
  story->until([&] { return opened.has_value(); }, "the sandbox");
  ASSERT_TRUE(*opened) << opened->error().what;
  EXPECT_EQ(story->run(*opened->value(), sh("echo on")).out, "on\n");
}

TEST_F(Patience, openings_fail_when_no_other_process_that_builds_sandboxes_gets_ready) {
  begin(0);
  lose_zygote();
  ask();
  clock->pass(opening_patience);
  story->until([&] { return opened.has_value(); }, "the answer");
  ASSERT_FALSE(*opened);
  const std::string why =
      "the process that builds boxes has ended, and another does not start: waited 10 s for it to get ready";
  EXPECT_EQ(opened->error().what, why);
  opened.reset();
  ask();
  story->until([&] { return opened.has_value(); }, "the next answer");
  ASSERT_FALSE(*opened);
  EXPECT_EQ(opened->error().what, why);
  story->until([] { return named("sluice-zygote").empty(); }, "the one that was not ready to be gone");
}

TEST_F(Patience, a_sandbox_that_ends_with_the_process_that_builds_sandboxes_is_proven_dead_by_the_next_one) {
  begin(0);
  ask();
  story->until([&] { return opened.has_value(); }, "the sandbox");
  ASSERT_TRUE(*opened);
  lose_zygote();
  std::optional<Result<Unit>> proof;
  opened->value()->kill([&](Result<Unit> answer) {
    proof = std::move(answer);
    story->nudge();
  });
  story->until([&] { return is_logged("debug sandbox ended sandbox=run_1 "); }, "its first process to be dead");
  if (story->can("memory limit of a box")) EXPECT_FALSE(proof);
  clock->be_deaf(false);
  story->until([&] { return proof.has_value(); }, "the proof");
  EXPECT_TRUE(*proof);
}

TEST_F(Patience, a_sandbox_can_be_closed_while_another_process_that_builds_sandboxes_is_started) {
  begin(0);
  lose_zygote();
  ask();
  bool closed = false;
  story->sandbox().close([&] {
    closed = true;
    story->nudge();
  });
  story->until([&] { return closed; }, "the end");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(*opened);
}

TEST_F(Patience, every_step_of_a_sandbox_is_in_the_log_at_the_level_debug) {
  begin(1);
  ask();
  story->until([&] { return opened.has_value(); }, "the sandbox");
  ASSERT_TRUE(*opened);
  story->kill(*opened->value());
  for (const std::string step :
       {"ready sandbox= number=1 ", "claimed sandbox=run_1 number=1 ", "opened sandbox=run_1 number=1 ",
        "killed sandbox=run_1 number=1 ", "ended sandbox=run_1 number=1 ", "gone sandbox=run_1 number=1 "}) {
    EXPECT_TRUE(is_logged("debug sandbox " + step)) << step;
  }
}

TEST_F(Patience, a_spare_sandbox_that_does_not_get_ready_is_replaced) {
  begin(1);
  const auto zygotes = stop_all("sluice-zygote");
  ask();  // takes the one that is ready; the next is ordered in a moment, and not built
  story->until([&] { return opened.has_value(); }, "the ready one");
  ASSERT_TRUE(*opened);
  story->until(
      [&] {
        clock->pass(opening_patience);
        return is_logged("warn spare sandbox lost why=waited 10 s for its first process to be started");
      },
      "the loss");
  resume(zygotes);
  story->until(
      [&] {
        clock->pass({1'000});
        return story->sandbox().warm_available() == 1;
      },
      "another spare one");
}

TEST_F(Patience, a_killed_command_of_whose_end_nothing_is_heard_loses_its_sandbox) {
  begin(0);
  ask();
  story->until([&] { return opened.has_value(); }, "the sandbox");
  ASSERT_TRUE(*opened);
  std::string lost;
  opened->value()->on_lost([&](std::string what) { lost = std::move(what); });
  Heard heard(*story);
  const auto process = opened->value()->start(sh("echo up; sleep 1000"), heard);
  story->until([&] { return heard.out == "up\n"; }, "the command");
  stop_all("sluice-init");
  process->stop();
  clock->pass({1'000});
  clock->pass(end_patience);
  story->until([&] { return heard.exit.has_value() && !lost.empty(); }, "the loss");
  EXPECT_EQ(heard.exit->cause, ExitCause::box_lost);
  EXPECT_EQ(lost, "waited 30 s for a killed command to end");
}

// A process that is not ours to kill sits in the control group of the sandbox.
TEST_F(Patience, a_death_that_cannot_be_proven_is_an_error_that_says_what_was_waited_for) {
  begin(0);
  if (!story->can("memory limit of a box")) return;  // then there is no group to prove anything by
  ask();
  story->until([&] { return opened.has_value(); }, "the sandbox");
  ASSERT_TRUE(*opened);
  const pid_t squatter = fork();
  if (squatter == 0) {
    while (true) pause();
  }
  int entered = 0;
  std::error_code ignored;
  const std::string ours = "sluice-" + std::to_string(getpid()) + ".";
  const pid_t init = named("sluice-init").at(0);
  std::ifstream groups("/proc/" + std::to_string(init) + "/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto at = line.find(ours);
    if (at == line.npos) continue;
    for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup", ignored)) {
      const std::string group = hierarchy.path().string() + line.substr(line.rfind(':') + 1);
      std::ofstream processes(group + "/cgroup.procs");
      if (processes << squatter << std::flush) ++entered;
    }
  }
  ASSERT_GT(entered, 0);
  std::optional<Result<Unit>> proof;
  opened->value()->kill([&](Result<Unit> answer) {
    proof = std::move(answer);
    story->nudge();
  });
  story->until([&] { return is_logged("debug sandbox ended sandbox=run_1 "); }, "its first process to be dead");
  story->until(
      [&] {
        clock->pass(end_patience);
        return proof.has_value();
      },
      "the answer");
  ASSERT_FALSE(*proof);
  EXPECT_EQ(proof->error().what, "waited 30 s for its control groups to be empty");
  ::kill(squatter, SIGKILL);
  waitpid(squatter, nullptr, 0);
  story->until([&] { return is_figure("sluice_sandbox_live 0"); }, "it to be forgotten in the end");
}

}  // namespace patience_test
}  // namespace sluice::sandbox
