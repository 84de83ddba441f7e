#include "ops/sandbox_trial.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "workspace/workspace.h"

namespace sluice::ops {
namespace {

constexpr std::size_t output_bytes_max = 64 * 1024;
constexpr int64_t command_ms_max = 10'000;

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

class Trial final : private sandbox::ProcessListener {
 public:
  Trial(world::Reactor& reactor, sandbox::Sandbox& sandbox) : reactor_(reactor), sandbox_(sandbox) {}

  Result<SandboxTrial> run(sandbox::BoxRequest request, sandbox::Command command) {
    const int64_t began_us = reactor_.monotonic_us();
    sandbox_.open(std::move(request), [&](Result<std::unique_ptr<sandbox::Box>> made) {
      if (!made) return end(made.error());
      box_ = std::move(made).take();
      process_ = box_->start(std::move(command), *this);
    });
    while (!trouble_ && !has_ended_) reactor_.run();
    trial_.took_us = reactor_.monotonic_us() - began_us;
    process_.reset();
    box_.reset();
    bool closed = false;
    sandbox_.close([this, &closed] {
      closed = true;
      reactor_.stop();
    });
    while (!closed) reactor_.run();
    if (trouble_) return *trouble_;
    return std::move(trial_);
  }

 private:
  void on_output(sandbox::Stream stream, std::string_view bytes) override {
    auto& kept = stream == sandbox::Stream::out ? trial_.out : trial_.err;
    kept += bytes.substr(0, output_bytes_max - std::min(output_bytes_max, kept.size()));
  }
  void on_exit(sandbox::Exit exit) override {
    trial_.exit = std::move(exit);
    has_ended_ = true;
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
  SandboxTrial trial_;
  bool has_ended_ = false;
  std::optional<Error> trouble_;
};

Result<SandboxTrial> try_there(const sandbox::SandboxOptions& options, sandbox::BoxRequest request,
                               sandbox::Command command) {
  auto reactor = world::make_reactor();
  if (!reactor) return reactor.error();
  world::Metrics metrics;
  const auto log = world::make_stderr_log(world::LogFormat::human, world::LogLevel::error);
  const auto sandbox = sandbox::open_sandbox(options, *reactor.value(), *log, metrics);
  if (!sandbox) return sandbox.error();
  auto trial = Trial(*reactor.value(), *sandbox.value()).run(std::move(request), std::move(command));
  if (trial) trial.value().driver = sandbox.value()->driver();
  return trial;
}

sandbox::Command trial_command() { return {.argv = {"true"}, .timeout_ms = command_ms_max}; }

Result<std::string> describe(const Result<SandboxTrial>& trial) {
  if (!trial) return trial.error();
  const auto& [took_us, driver, exit, out, err] = trial.value();
  if (exit.cause == sandbox::ExitCause::timed_out) {
    return unavailable("waited " + std::to_string(command_ms_max / 1000) + " s for the command `true` in it to end");
  }
  if (exit.cause != sandbox::ExitCause::exited || exit.code != 0) {
    return unavailable("a command in it ended as " + std::string(name_of(exit.cause)) + " " +
                       std::to_string(exit.code) + " " + exit.what);
  }
  return "cold, in " + std::to_string(took_us / 1000) + "." + std::to_string(took_us / 100 % 10) + " ms (driver " +
         driver + ")";
}

}  // namespace

Result<SandboxTrial> try_in_sandbox(sandbox::SandboxOptions options, sandbox::BoxRequest request,
                                    sandbox::Command command) {
  std::string place = "/tmp/sluice-trial-XXXXXX";
  if (mkdtemp(place.data()) == nullptr) return unavailable("/tmp is not writable; not tried");
  chmod(place.c_str(), 0755);
  options.state_dir = place;
  options.warm_target = 0;
  // The directory is created by the first start of a server or by the first installation of a program.
  if (!std::filesystem::is_directory(options.harness_dir)) options.harness_dir.clear();
  auto trial = try_there(options, std::move(request), std::move(command));
  if (auto gone = workspace::remove_tree(place); !gone && trial) return std::move(gone.error());
  return trial;
}

Result<std::string> try_sandbox(const sandbox::SandboxOptions& options) {
  return describe(try_in_sandbox(options, {.name = "trial"}, trial_command()));
}

Result<std::string> try_sandbox(world::Reactor& reactor, sandbox::Sandbox& sandbox) {
  auto trial = Trial(reactor, sandbox).run({.name = "trial"}, trial_command());
  if (trial) trial.value().driver = sandbox.driver();
  return describe(trial);
}

}  // namespace sluice::ops
