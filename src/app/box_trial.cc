#include "app/box_trial.h"

#include <optional>

namespace sluice::app {
namespace {

class Trial final : private sandbox::ProcessListener {
 public:
  Trial(world::Reactor& reactor, sandbox::Sandbox& sandbox) : reactor_(reactor), sandbox_(sandbox) {}

  Result<int64_t> run() {
    const int64_t began_us = reactor_.monotonic_us();
    sandbox_.open({.name = "trial"}, [this](Result<std::unique_ptr<sandbox::Box>> made) {
      if (!made) return end(made.error());
      box_ = std::move(made).take();
      process_ = box_->start({.argv = {"true"}}, *this);
    });
    while (!trouble_ && !exit_) reactor_.run();
    const int64_t took_us = reactor_.monotonic_us() - began_us;
    process_.reset();
    box_.reset();
    bool closed = false;
    sandbox_.close([this, &closed] {
      closed = true;
      reactor_.stop();
    });
    while (!closed) reactor_.run();
    if (trouble_) return *trouble_;
    if (exit_->cause == sandbox::ExitCause::exited && exit_->code == 0) return took_us;
    return Error{ErrorKind::unavailable, "a command in it ended as " + std::string(name_of(exit_->cause)) + " " +
                                             std::to_string(exit_->code) + " " + exit_->what};
  }

 private:
  void on_output(sandbox::Stream, std::string_view) override {}
  void on_exit(sandbox::Exit exit) override {
    exit_ = std::move(exit);
    reactor_.stop();
  }
  void end(Error why) {
    trouble_ = std::move(why);
    reactor_.stop();
  }

  world::Reactor& reactor_;
  sandbox::Sandbox& sandbox_;
  std::unique_ptr<sandbox::Box> box_;
  std::unique_ptr<sandbox::Process> process_;
  std::optional<sandbox::Exit> exit_;
  std::optional<Error> trouble_;
};

}  // namespace

Result<std::string> try_a_box(const sandbox::SandboxOptions& options) {
  auto reactor = world::make_reactor();
  if (!reactor) return reactor.error();
  world::Metrics metrics;
  const auto log = world::make_stderr_log(world::LogFormat::human, world::LogLevel::error);
  const auto sandbox = sandbox::open_sandbox(options, *reactor.value(), *log, metrics);
  if (!sandbox) return sandbox.error();
  const auto took_us = Trial(*reactor.value(), *sandbox.value()).run();
  if (!took_us) return took_us.error();
  return "cold, in " + std::to_string(took_us.value() / 1000) + "." + std::to_string(took_us.value() / 100 % 10) +
         " ms (driver " + std::string(sandbox.value()->driver()) + ")";
}

}  // namespace sluice::app
