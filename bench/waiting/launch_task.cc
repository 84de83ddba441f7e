// Launching a run as a coroutine. The run owns the sequence, so whatever ends the run ends its launch.
#include "bench/waiting/launch.h"

namespace sluice::waiting {
namespace {

class TaskLauncher final : public Launcher {
 public:
  explicit TaskLauncher(LaunchNeeds& needs) : needs_(needs) {}
  void begin(Run& run) override { run.launching.start(launch(run)); }
  void cancel(Run& run) override {
    run.launching.drop();
    run.cancel();
  }

 private:
  Task<> launch(Run& run);
  Task<std::unique_ptr<Launch>> read_on(Run& run);
  Task<bool> find_secrets(Run& run, Work& work);
  // Asks again every half second for as long as the failure may pass.
  template <typename T, typename Ask>
  Task<Result<T>> patiently(Ask ask) {
    while (true) {
      auto found = co_await answer<Result<T>>(ask);
      if (found || !may_pass(found.error())) co_return found;
      co_await pause(needs_.loop, read_again);
    }
  }

  LaunchNeeds& needs_;
};

Task<> TaskLauncher::launch(Run& run) {
  auto launch = run.take_launch();
  if (!launch) launch = co_await read_on(run);
  if (!launch) co_return;
  auto& work = launch->work;
  if (launch->is_sticky) {
    work.keeps_box = needs_.pin(run.number());
    if (!work.keeps_box) run.warn("No more sandboxes can be kept; this one goes with the run.");
  }
  if (!launch->names.materials.empty()) {
    auto found = co_await patiently<Found>(
        [&](auto done) { needs_.store.materials(run.number(), launch->names, std::move(done)); });
    if (!found) co_return run.fail("The run's materials could not be read.");
    if (!found.value().missing.empty()) {
      co_return run.fail("The run names what no longer exists: " + list_of(found.value().missing) + ".");
    }
    work.materials = std::move(found.value().materials);
  }
  work.files.emplace_back("attachment");
  if (!co_await find_secrets(run, work)) co_return;
  if (work.reads_history) {
    auto turns = co_await patiently<std::vector<std::string>>(
        [&](auto done) { needs_.store.history(run.number(), std::move(done)); });
    if (!turns) co_return run.fail("The conversation's history could not be read.");
    work.history = std::move(turns).take();
  }
  const bool forsakes_mark = work.mark.empty() && run.marked();
  if (!work.checkpoint.empty() || forsakes_mark) {
    co_await answer<Unit>([&](auto done) { run.clear_mark(std::move(done)); });
  }
  if (needs_.is_suspended()) {
    co_await answer<Unit>([&](auto done) { needs_.keep_suspended(run.number(), std::move(done)); });
  }
  run.dispatched(work);
}

Task<std::unique_ptr<Launch>> TaskLauncher::read_on(Run& run) {
  auto past =
      co_await patiently<std::shared_ptr<Past>>([&](auto done) { needs_.store.past(run.number(), std::move(done)); });
  if (!past || past.value()->is_damaged) {
    run.fail("What was written of the run could not be read.");
  } else if (!past.value()->has_agent) {
    run.fail("The run's agent no longer exists.");
  } else {
    co_return std::make_unique<Launch>(std::move(past.value()->launch));
  }
  co_return nullptr;
}

Task<bool> TaskLauncher::find_secrets(Run& run, Work& work) {
  auto sealed = co_await patiently<std::vector<std::string>>(
      [&](auto done) { needs_.store.secrets(run.number(), std::move(done)); });
  if (!sealed) {
    run.fail("The run's secrets could not be read.");
    co_return false;
  }
  std::vector<std::string> unread;
  work.secrets = open_secrets(sealed.value(), unread);
  if (!unread.empty()) run.warn("Secrets that the server's keys do not open are left out: " + list_of(unread) + ".");
  co_await answer<Unit>([&](auto done) { needs_.scrubber(run.number(), std::move(done)); });
  co_return true;
}

}  // namespace

std::unique_ptr<Launcher> make_task_launcher(LaunchNeeds& needs) { return std::make_unique<TaskLauncher>(needs); }

}  // namespace sluice::waiting
