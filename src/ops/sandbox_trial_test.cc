// What `sluice doctor` says of a sandbox.
#include "ops/sandbox_trial.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sandbox/fake_sandbox.h"

namespace sluice::ops {
namespace sandbox_trial_test {

class HurriedReactor final : public world::Reactor {
 public:
  Timestamp now() const override { return real_->now(); }
  int64_t monotonic_us() const override { return real_->monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override {
    return real_->after(hurries ? Millis{0} : delay, std::move(then));
  }
  void defer(Callback<void()> then) override { real_->defer(std::move(then)); }
  void post(Callback<void()> then) override { real_->post(std::move(then)); }
  void run() override { real_->run(); }
  void stop() override { real_->stop(); }
  std::unique_ptr<world::Watch> watch(int fd, world::Watch::Interest interest,
                                      Callback<void(world::Ready)> when) override {
    return real_->watch(fd, interest, std::move(when));
  }

  bool hurries = false;  // all timers are due at once

 private:
  const std::unique_ptr<world::Reactor> real_ = world::make_reactor().take();
};

class SandboxTrialTest : public testing::Test {
 protected:
  SandboxTrialTest() {
    std::string pattern = testing::TempDir() + "trialXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    home = pattern;
    sandbox = std::make_unique<sandbox::FakeSandbox>(reactor, home + "/boxes");
  }
  ~SandboxTrialTest() override {
    sandbox.reset();
    std::filesystem::remove_all(home);
  }

  HurriedReactor reactor;
  std::string home;
  std::unique_ptr<sandbox::FakeSandbox> sandbox;
};

TEST_F(SandboxTrialTest, A_sandbox_in_which_a_command_runs_is_reported_with_its_time) {
  const auto words = try_sandbox(reactor, *sandbox);
  ASSERT_TRUE(words) << words.error().what;
  EXPECT_EQ(words.value().find("cold, in "), 0u) << words.value();
}

TEST_F(SandboxTrialTest, The_trial_waits_ten_seconds_for_a_command_that_does_not_end) {
  reactor.hurries = true;
  sandbox->script = [](sandbox::FakeBox&, const sandbox::Command& command) {
    EXPECT_EQ(command.timeout_ms, 10'000);
    return sandbox::FakeResult{.exit = {.code = 1}, .hangs = command.timeout_ms > 0};
  };
  const auto words = try_sandbox(reactor, *sandbox);
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().what, "waited 10 s for the command `true` in it to end");
}

}  // namespace sandbox_trial_test
}  // namespace sluice::ops
