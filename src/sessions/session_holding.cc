#include "sessions/session_holding.h"

#include <algorithm>
#include <utility>

#include "sessions/changed_paths.h"

namespace sluice::sessions {

SessionHolding::SessionHolding(SessionCore& core) : core_(core) {
  for (const auto& name : core_.state.parked_layers) held_count_ = std::max(held_count_, held_number(name));
}

void SessionHolding::find_changed(Callback<void(std::vector<std::string>)> then) {
  if (!core_.live) return then({});
  core_.file_work.send<std::vector<std::string>>(
      *core_.workers, "looking for what changed in the workspace",
      [mark = core_.mark, changes = core_.duplicate_changes()](std::stop_token stop) {
        return Result(changed_since(changes.get(), mark, std::move(stop)));
      },
      [this, then = std::move(then)](Result<std::vector<std::string>> found) mutable {
        if (!found) return core_.fail_keeping(found.error().what);
        then(std::move(found).take());
      });
}

void SessionHolding::hold(Callback<void()> done) {
  if (!core_.live) {
    is_parked_ = !core_.dispatch.keeps_box;
    return done();
  }
  done_ = std::move(done);
  // Before it is held: that may change the modes of what its owner made unreadable.
  const auto find_and_hold = [this] {
    find_changed([this](std::vector<std::string> paths) {
      held_changed_ = std::move(paths);
      hold_changes();
    });
  };
  if (core_.dispatch.keeps_box) return find_and_hold();
  core_.live->kill([this, find_and_hold, alive = core_.lifeline.watch()](const Result<Unit>& proof) {
    if (alive.expired()) return;
    if (!proof) return core_.fail_undead(proof.error().what);
    core_.live->settle_files();
    if (!alive.expired()) find_and_hold();
  });
}

void SessionHolding::hold_changes() {
  core_.file_work.send<std::string>(
      *core_.workers, "copying what the run changed",
      [work = core_.layer_work(), number = ++held_count_,
       changes = core_.duplicate_changes()](std::stop_token stop) mutable {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        return sessions::hold_changes(work, number);
      },
      [this](Result<std::string> name) { take_held(std::move(name)); },
      [home = core_.home](const Result<std::string>& name) {
        if (name && !name.value().empty()) (void)workspace::remove_tree(home + "/" + name.value());
      });
}

void SessionHolding::take_held(Result<std::string> name) {
  if (!name) return core_.fail_keeping(name.error().what);
  if (core_.dispatch.keeps_box) {
    snapshot_ = std::move(name).take();
    is_waiting_ = true;
  } else {
    if (!name.value().empty())
      core_.state.parked_layers.insert(core_.state.parked_layers.begin(), std::move(name).take());
    core_.live.reset();
    is_parked_ = true;
  }
  std::exchange(done_, nullptr)();
}

SessionState SessionHolding::state() const {
  auto state = core_.state;
  if (!snapshot_.empty()) state.parked_layers.insert(state.parked_layers.begin(), snapshot_);
  return state;
}

void SessionHolding::go_on() {
  is_waiting_ = false;
  if (held_count_ == 0) return;
  core_.workers->run([home = core_.home, run = core_.dispatch.run,
                      names = state().parked_layers] { remove_held_but(home, run, names); },
                     [] {});
}

void SessionHolding::forget() {
  if (held_count_ == 0) return;
  core_.workers->run([home = core_.home, run = core_.dispatch.run] { remove_held_but(home, run, {}); }, [] {});
}

bool SessionHolding::is_lost_for_good() {
  if (!std::exchange(is_waiting_, false)) return true;
  core_.state = state();
  snapshot_.clear();
  core_.live.reset();
  return false;
}

}  // namespace sluice::sessions
