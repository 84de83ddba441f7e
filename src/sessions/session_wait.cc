// How a run that used its hands waits for a human, with its box or without, and what it may send meanwhile.
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "runs/runs.h"
#include "sessions/sandbox_session.h"

namespace sluice::sessions {

using model::Slug;

std::vector<std::string> SandboxSession::held_paths() const {
  std::vector<std::string> paths;
  for (const auto& name : state_.parked_layers) paths.push_back(home_ + "/" + name);
  return paths;
}

LayerWork SandboxSession::layer_work() const {
  LayerWork work{.changes_fd = -1,
                 .home = home_,
                 .below = layers_,
                 .mark = dispatch_.run.text(),
                 .owner = {options_.owner_uid, options_.owner_uid},
                 .held = held_paths(),
                 .gathered = gathered_};
  if (live_) work.kept = live_->kept;
  return work;
}

void SandboxSession::hold(Callback<void()> done) {
  if (!live_) {
    is_parked_ = !dispatch_.keeps_box;
    return done();
  }
  then_ = std::move(done);
  if (dispatch_.keeps_box) return find_held_changed();
  live_->kill([this, alive = lifeline_.watch()](const Result<Unit>& proof) {
    if (alive.expired()) return;
    if (!proof) return fail_undead(proof.error().what);
    live_->settle_files();
    if (!alive.expired()) find_held_changed();
  });
}

void SandboxSession::find_changed(Callback<void(std::vector<std::string>)> then) {
  if (!live_) return then({});
  file_work_.send<std::vector<std::string>>(
      *workers_, "looking for what changed in the workspace",
      [mark = mark_, changes = OwnedFd(fcntl(live_->box()->changes_fd(), F_DUPFD_CLOEXEC, 0))](std::stop_token stop) {
        return Result(changed_since(changes.get(), mark, std::move(stop)));
      },
      [this, then = std::move(then)](Result<std::vector<std::string>> found) mutable {
        if (!found) return fail_keeping(found.error().what);
        then(std::move(found).take());
      });
}

// Before it is held: that may change the modes of what its owner made unreadable.
void SandboxSession::find_held_changed() {
  find_changed([this](std::vector<std::string> paths) {
    held_changed_ = std::move(paths);
    hold_changes();
  });
}

void SandboxSession::hold_changes() {
  file_work_.send<std::string>(
      *workers_, "copying what the run changed",
      [work = layer_work(), number = ++held_count_,
       changes = OwnedFd(fcntl(live_->box()->changes_fd(), F_DUPFD_CLOEXEC, 0))](std::stop_token stop) mutable {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        return sessions::hold_changes(work, number);
      },
      [this](Result<std::string> name) { take_held(std::move(name)); },
      [home = home_](const Result<std::string>& name) {
        if (name && !name.value().empty()) (void)workspace::remove_tree(home + "/" + name.value());
      });
}

void SandboxSession::take_held(Result<std::string> name) {
  if (!name) return fail_keeping(name.error().what);
  if (dispatch_.keeps_box) {
    snapshot_ = std::move(name).take();
    is_waiting_ = true;
  } else {
    if (!name.value().empty()) state_.parked_layers.insert(state_.parked_layers.begin(), std::move(name).take());
    live_.reset();
    is_ready_ = false;
    is_parked_ = true;
  }
  std::exchange(then_, nullptr)();
}

SessionState SandboxSession::state() const {
  auto state = state_;
  if (!snapshot_.empty()) state.parked_layers.insert(state.parked_layers.begin(), snapshot_);
  return state;
}

void SandboxSession::go_on() {
  is_waiting_ = false;
  if (held_count_ == 0) return;
  workers_->run(
      [home = home_, run = dispatch_.run, names = state().parked_layers] { remove_held_but(home, run, names); }, [] {});
}

void SandboxSession::forget_held() {
  if (held_count_ == 0) return;
  workers_->run([home = home_, run = dispatch_.run] { remove_held_but(home, run, {}); }, [] {});
}

// While a human is waited for nobody needs the box: it is opened again over what was held.
void SandboxSession::lose(const std::string& what) {
  if (!is_waiting_) {
    return fail(Slug::sandbox_failed,
                "The sandbox went away" + (what.empty() ? std::string() : ": " + runs::to_utf8(what)) + ".");
  }
  is_waiting_ = false;
  is_ready_ = false;
  state_ = state();
  snapshot_.clear();
  live_.reset();
}

void SandboxSession::settle(uint64_t number, bool go_on, std::string_view words) {
  if (live_ && live_->outlet() != nullptr) live_->outlet()->settle(number, go_on, words);
}

int64_t SandboxSession::sent_for_good() const {
  return live_ && live_->outlet() != nullptr ? live_->outlet()->sent_for_good() : 0;
}

void SandboxSession::allow_host(std::string host) {
  if (!is_allowed_host(host)) state_.allowed_hosts.push_back(std::move(host));
}

bool SandboxSession::is_allowed_host(std::string_view host) const {
  return std::ranges::find(state_.allowed_hosts, host) != state_.allowed_hosts.end();
}

// What still runs in it could change the workspace while it is kept.
void SandboxSession::fail_undead(const std::string& why) {
  fail(Slug::sandbox_failed, "The sandbox could not be ended: " + runs::to_utf8(why) + ".");
}

void SandboxSession::fail_keeping(const std::string& why) {
  fail(Slug::writeback_failed, "The workspace could not be kept: " + why + ".");
}

}  // namespace sluice::sessions
