#include "sandbox/command_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "world/world.h"

namespace sluice::sandbox {
namespace command_process_test {

// A real loop whose watches note whether their descriptor was still open when they were dropped.
class WatchfulReactor final : public world::Reactor {
 public:
  Timestamp now() const override { return real_->now(); }
  int64_t monotonic_us() const override { return real_->monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override { return real_->after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { real_->defer(std::move(then)); }
  void post(Callback<void()> then) override { real_->post(std::move(then)); }
  void run() override { real_->run(); }
  void stop() override { real_->stop(); }
  std::unique_ptr<world::Watch> watch(int fd, world::Watch::Interest interest,
                                      Callback<void(world::Ready)> when) override {
    return std::make_unique<Noted>(*this, fd, real_->watch(fd, interest, std::move(when)));
  }

  int dropped_count = 0;
  int dropped_after_close_count = 0;

 private:
  class Noted final : public world::Watch {
   public:
    Noted(WatchfulReactor& reactor, int fd, std::unique_ptr<world::Watch> real)
        : reactor_(reactor), fd_(fd), real_(std::move(real)) {}
    ~Noted() override {
      ++reactor_.dropped_count;
      if (fcntl(fd_, F_GETFD) < 0) ++reactor_.dropped_after_close_count;
    }
    void want(Interest interest) override { real_->want(interest); }

   private:
    WatchfulReactor& reactor_;
    const int fd_;
    const std::unique_ptr<world::Watch> real_;
  };

  const std::unique_ptr<world::Reactor> real_ = world::make_reactor().take();
};

class Listener final : public ProcessListener {
 public:
  explicit Listener(world::Reactor& reactor) : reactor_(reactor) {}
  void on_output(Stream /*stream*/, std::string_view bytes) override { output += bytes; }
  void on_exit(Exit given) override {
    exit = std::move(given);
    reactor_.stop();
  }

  std::string output;
  std::optional<Exit> exit;

 private:
  world::Reactor& reactor_;
};

class RunningTest : public testing::Test {
 protected:
  RunningTest() { command.argv = {"cat"}; }

  WatchfulReactor reactor;
  Listener listener{reactor};
  Command command;
};

// Worker threads open files all the time: a number that was closed is theirs a moment later.
TEST_F(RunningTest, the_watch_of_a_pipe_is_dropped_before_the_pipe_is_closed_at_end_of_file) {
  auto process = std::make_shared<CommandProcess>(reactor, listener, command, nullptr);
  auto theirs = process->open_pipes();
  ASSERT_TRUE(theirs);
  ASSERT_EQ(write(theirs->out.get(), "done", 4), 4);
  theirs.reset();
  process->on_exited({.cause = ExitCause::exited});
  reactor.run();

  EXPECT_EQ(listener.output, "done");
  ASSERT_TRUE(listener.exit);
  EXPECT_EQ(reactor.dropped_count, 2);
  EXPECT_EQ(reactor.dropped_after_close_count, 0);
}

TEST_F(RunningTest, the_watch_of_a_pipe_is_dropped_before_the_pipe_is_closed_when_the_sandbox_ends) {
  command.keeps_input = true;
  command.input = std::string(1 << 20, 'x');  // more than the pipe takes, so that the input is watched too
  auto process = std::make_shared<CommandProcess>(reactor, listener, command, nullptr);
  const auto theirs = process->open_pipes();
  ASSERT_TRUE(theirs);
  process->end({.cause = ExitCause::box_lost});

  ASSERT_TRUE(listener.exit);
  EXPECT_EQ(reactor.dropped_count, 3);
  EXPECT_EQ(reactor.dropped_after_close_count, 0);
}

}  // namespace command_process_test
}  // namespace sluice::sandbox
