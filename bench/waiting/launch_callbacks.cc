// Launching a run as the engine does it today: steps of an object, each the callback of the one before.
#include "bench/waiting/launch.h"

namespace sluice::waiting {
namespace {

class CallbackLauncher final : public Launcher {
 public:
  explicit CallbackLauncher(LaunchNeeds& needs) : needs_(needs) {}
  void begin(Run& run) override;
  void cancel(Run& run) override { run.cancel(); }
  std::size_t held() const override { return retries_.size(); }

 private:
  void try_again(Run& run, Callback<void(Run&)> then);
  void read_on(Run& run);
  void launch_here(Run& run, Launch launch);
  void start_work(Run& run, Work work, const Names& names);
  void find_secrets(Run& run, Work work);
  void give_secrets(Run& run, const std::vector<std::string>& sealed, Work work);
  void read_history(Run& run, Work work);
  void dispatch(Run& run, Work work);
  void hand_over(Run& run, Work work);
  template <typename F>
  auto while_carried(const Run& run, F then) {
    return [self = run.self(), then = std::move(then)](auto&&... args) mutable {
      if (*self != nullptr) then(**self, std::forward<decltype(args)>(args)...);
    };
  }

  LaunchNeeds& needs_;
  std::unordered_map<int, world::Timer> retries_;
};

void CallbackLauncher::begin(Run& run) {
  const auto kept = run.take_launch();
  if (!kept) return read_on(run);
  launch_here(run, std::move(*kept));
}

void CallbackLauncher::try_again(Run& run, Callback<void(Run&)> then) {
  auto again = [this, then = std::move(then)](Run& still) mutable {
    const auto timer = std::move(retries_.extract(still.number()).mapped());
    if (still.state() == RunState::streaming) then(still);
  };
  retries_[run.number()] = needs_.loop.after(read_again, while_carried(run, std::move(again)));
}

void CallbackLauncher::read_on(Run& run) {
  auto go_on = [this](Run& still, Result<std::shared_ptr<Past>> past) {
    if (still.state() != RunState::streaming) return;
    if (!past && may_pass(past.error())) return try_again(still, [this](Run& later) { read_on(later); });
    if (!past || past.value()->is_damaged) return still.fail("What was written of the run could not be read.");
    if (!past.value()->has_agent) return still.fail("The run's agent no longer exists.");
    launch_here(still, std::move(past.value()->launch));
  };
  needs_.store.past(run.number(), while_carried(run, std::move(go_on)));
}

void CallbackLauncher::launch_here(Run& run, Launch launch) {
  auto work = std::move(launch.work);
  if (launch.is_sticky) {
    work.keeps_box = needs_.pin(run.number());
    if (!work.keeps_box) run.warn("No more sandboxes can be kept; this one goes with the run.");
  }
  start_work(run, std::move(work), launch.names);
}

void CallbackLauncher::start_work(Run& run, Work work, const Names& names) {
  if (names.materials.empty()) return find_secrets(run, std::move(work));
  auto found = [this, names, work = std::move(work)](Run& still, Result<Found> answer) mutable {
    if (!answer && may_pass(answer.error())) {
      return try_again(still, [this, names, work = std::move(work)](Run& later) mutable {
        start_work(later, std::move(work), names);
      });
    }
    if (!answer) return still.fail("The run's materials could not be read.");
    if (!answer.value().missing.empty()) {
      return still.fail("The run names what no longer exists: " + list_of(answer.value().missing) + ".");
    }
    work.materials = std::move(answer.value().materials);
    find_secrets(still, std::move(work));
  };
  needs_.store.materials(run.number(), names, while_carried(run, std::move(found)));
}

void CallbackLauncher::find_secrets(Run& run, Work work) {
  work.files.clear();  // it may be the second time
  work.files.emplace_back("attachment");
  auto found = [this, work = std::move(work)](Run& still, Result<std::vector<std::string>> sealed) mutable {
    if (!sealed && may_pass(sealed.error())) {
      return try_again(still,
                       [this, work = std::move(work)](Run& later) mutable { find_secrets(later, std::move(work)); });
    }
    if (!sealed) return still.fail("The run's secrets could not be read.");
    give_secrets(still, sealed.value(), std::move(work));
  };
  needs_.store.secrets(run.number(), while_carried(run, std::move(found)));
}

void CallbackLauncher::give_secrets(Run& run, const std::vector<std::string>& sealed, Work work) {
  std::vector<std::string> unread;
  work.secrets = open_secrets(sealed, unread);
  if (!unread.empty()) run.warn("Secrets that the server's keys do not open are left out: " + list_of(unread) + ".");
  auto made = [this, work = std::move(work)](Run& ready) mutable { read_history(ready, std::move(work)); };
  needs_.scrubber(run.number(), while_carried(run, std::move(made)));
}

void CallbackLauncher::read_history(Run& run, Work work) {
  if (!work.reads_history) return dispatch(run, std::move(work));
  auto found = [this, work = std::move(work)](Run& still, Result<std::vector<std::string>> turns) mutable {
    if (!turns && may_pass(turns.error())) {
      return try_again(still,
                       [this, work = std::move(work)](Run& later) mutable { read_history(later, std::move(work)); });
    }
    if (!turns) return still.fail("The conversation's history could not be read.");
    work.history = std::move(turns).take();
    dispatch(still, std::move(work));
  };
  needs_.store.history(run.number(), while_carried(run, std::move(found)));
}

void CallbackLauncher::dispatch(Run& run, Work work) {
  const bool forsakes_mark = work.mark.empty() && run.marked();
  if (work.checkpoint.empty() && !forsakes_mark) return hand_over(run, std::move(work));
  auto written = [this, &run, work = std::move(work)]() mutable { hand_over(run, std::move(work)); };
  run.clear_mark(std::move(written));
}

void CallbackLauncher::hand_over(Run& run, Work work) {
  auto begin = [work = std::move(work)](Run& ready) mutable {
    if (ready.state() != RunState::streaming) return;  // cancelled meanwhile
    ready.dispatched(work);
  };
  if (!needs_.is_suspended()) return begin(run);
  needs_.keep_suspended(run.number(), while_carried(run, std::move(begin)));
}

}  // namespace

std::unique_ptr<Launcher> make_callback_launcher(LaunchNeeds& needs) {
  return std::make_unique<CallbackLauncher>(needs);
}

}  // namespace sluice::waiting
