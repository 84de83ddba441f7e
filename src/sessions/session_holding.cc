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
  finding_.start(changed_paths(), [this, then = std::move(then)](Result<std::vector<std::string>> found) mutable {
    if (!found) return core_.fail(*keeping_failed(found.error().what));
    then(std::move(found).take());
  });
}

Task<Result<std::vector<std::string>>> SessionHolding::changed_paths() {
  co_return co_await file_job<std::vector<std::string>>(
      core_.file_workers(), "looking for what changed in the workspace",
      [mark = core_.mark, changes = core_.duplicate_changes()](std::stop_token stop) {
        return Result(changed_since(changes.get(), mark, std::move(stop)));
      });
}

Task<Outcome> SessionHolding::hold() {
  const bool keeps_sandbox = core_.dispatch.keeps_box;
  if (!core_.live) {
    is_parked_ = !keeps_sandbox;
    co_return std::nullopt;
  }
  if (!keeps_sandbox) {
    // A process that still ran could change the files while they are copied.
    const auto proof = co_await answer<Result<Unit>>([this](auto done) { core_.live->kill(std::move(done)); });
    if (!proof) co_return killing_failed(proof.error().what);
    co_await outside([live = core_.live.get()] { live->settle_files(); });
  }
  // Before the changes are held: that may change the modes of what its owner made unreadable.
  auto changed = co_await changed_paths();
  if (!changed) co_return keeping_failed(changed.error().what);
  held_changed_ = std::move(changed).take();
  auto name = co_await hold_changes();
  if (!name) co_return keeping_failed(name.error().what);
  if (keeps_sandbox) {
    snapshot_ = std::move(name).take();
    is_waiting_ = true;
    co_return std::nullopt;
  }
  auto& parked = core_.state.parked_layers;
  if (!name.value().empty()) parked.insert(parked.begin(), std::move(name).take());
  core_.live.reset();
  is_parked_ = true;
  co_return std::nullopt;
}

Task<Result<std::string>> SessionHolding::hold_changes() {
  co_return co_await file_job<std::string>(
      core_.file_workers(), "copying what the run changed",
      [work = core_.layer_work(), number = ++held_count_,
       changes = core_.duplicate_changes()](std::stop_token stop) mutable {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        return sessions::hold_changes(work, number);
      },
      [home = core_.home](const Result<std::string>& name) {
        if (name && !name.value().empty()) (void)workspace::remove_tree(home + "/" + name.value());
      });
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
