// A sandbox for tests: commands are answered by a script, sandboxes have real directories, and what can
// go wrong goes wrong when the test says so.
//
//   FakeSandbox sandbox(loop, directory);
//   sandbox.script = [](FakeBox& sandbox, const Command& command) { return FakeResult{.out = "hi\n"}; };
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "sandbox/fake_process.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

class FakeBox;
class FakeSandbox;

// Opened by FakeSandbox. A test finds it in FakeSandbox::sandboxes for as long as its owner keeps it.
class FakeBox final : public Box {
 public:
  FakeBox(FakeSandbox& sandbox, world::Loop& loop, BoxRequest asked, std::string directory);
  ~FakeBox() override;

  std::unique_ptr<Process> start(Command command, ProcessListener& listener) override;
  int workspace_fd() const override { return workspace_fd_; }
  int changes_fd() const override { return changes_fd_; }
  bool was_warm() const override { return true; }
  OwnedFd take_egress_listener() override;
  OwnedFd take_bridge_listener() override;
  void on_lost(Callback<void(std::string)> then) override { lost_ = std::move(then); }
  void freeze(bool wanted) override;
  void kill(Callback<void(Result<Unit>)> done) override;

  // ── for the test ──
  const BoxRequest request;
  const std::string directory;                                // has workspace/ and changes/
  std::vector<std::shared_ptr<FakeProcess::State>> commands;  // all that were started, in order
  bool killed = false;
  bool frozen = false;
  int times_frozen = 0;
  bool egress_taken = false;
  bool bridge_taken = false;

  // The sandbox is lost while it is used.
  void lose(std::string what) {
    loop_.defer([this, alive = lifetime_.watch(), what = std::move(what)]() mutable {
      if (alive.is_over() || killed) return;
      end_all({.cause = ExitCause::box_lost, .what = what});
      if (!alive.is_over() && lost_) std::exchange(lost_, nullptr)(std::move(what));
    });
  }
  void say(std::size_t command, Stream stream, std::string bytes) {
    FakeProcess::say(*commands.at(command), stream, std::move(bytes));
  }
  void end(std::size_t command, Exit exit) { FakeProcess::end(*commands.at(command), std::move(exit)); }
  std::string workspace() const { return directory + "/workspace"; }
  std::string changes() const { return directory + "/changes"; }

 private:
  friend class FakeSandbox;
  void end_all(const Exit& exit) {
    for (const auto& state : std::vector(commands)) FakeProcess::end(*state, exit);
  }

  FakeSandbox& sandbox_;
  world::Loop& loop_;
  Lifetime lifetime_;
  int workspace_fd_ = -1;
  int changes_fd_ = -1;
  Callback<void(std::string)> lost_;
  std::vector<std::shared_ptr<FakeProcess::State>> unbegun_;  // that were started while it was frozen

  void begin(const std::shared_ptr<FakeProcess::State>& state);
};

class FakeSandbox final : public Sandbox {
 public:
  FakeSandbox(world::Loop& loop, std::string directory) : loop_(loop), directory_(std::move(directory)) {}
  ~FakeSandbox() override { SLUICE_CHECK(boxes.empty()); }

  std::string_view driver() const override { return "fake"; }
  const std::vector<Ability>& abilities() const override { return abilities_; }
  int warm_available() const override { return warm; }
  uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) override {
    const auto ticket = static_cast<uint64_t>(++opened);
    if (hold_opens) {
      held_opens_[ticket] = std::move(done);
      return ticket;
    }
    if (open_fails_with) {
      loop_.defer([error = *std::exchange(open_fails_with, std::nullopt), done = std::move(done)]() mutable {
        done(std::move(error));
      });
      return ticket;
    }
    loop_.defer([this, request = std::move(request), done = std::move(done)]() mutable {
      done(std::unique_ptr<Box>(
          std::make_unique<FakeBox>(*this, loop_, std::move(request), directory_ + "/box-" + std::to_string(++made_))));
    });
    return ticket;
  }
  void give_up(uint64_t ticket) override {
    auto held = held_opens_.extract(ticket);
    if (!held) return;
    ++given_up;
    loop_.defer([done = std::move(held.mapped())]() mutable {
      done(Error{ErrorKind::unavailable, "the sandbox is not wanted any more"});
    });
  }
  void close(Callback<void()> done) override {
    for (FakeBox* box : std::vector(boxes)) box->end_all({.cause = ExitCause::stopped});
    loop_.defer(std::move(done));
  }

  // ── for the test ──
  std::function<FakeResult(FakeBox&, const Command&)> script;  // none: commands end at once, silent, with 0
  std::function<OwnedFd(FakeBox&)> egress_listener;            // what a sandbox gives out, once; none: an empty one
  std::function<OwnedFd(FakeBox&)> bridge_listener;            // likewise
  int warm = 0;                                                // what warm_available() says
  std::optional<Error> open_fails_with;                        // the next open only
  bool hold_opens = false;                                     // open() is not answered, until it is given up
  bool hold_kills = false;                                     // done of kill() waits for release_kills()
  std::optional<Error> kill_fails_with;                        // the next kill only
  int opened = 0;
  int given_up = 0;
  std::vector<FakeBox*> boxes;  // alive, oldest first

  void release_kills() {
    hold_kills = false;
    for (auto& done : std::exchange(held_, {})) {
      loop_.defer([done = std::move(done)]() mutable { done(Unit{}); });
    }
  }

 private:
  friend class FakeBox;
  world::Loop& loop_;
  const std::string directory_;
  const std::vector<Ability> abilities_;
  int made_ = 0;
  std::map<uint64_t, Callback<void(Result<std::unique_ptr<Box>>)>> held_opens_;
  std::vector<Callback<void(Result<Unit>)>> held_;
};

inline FakeBox::FakeBox(FakeSandbox& sandbox, world::Loop& loop, BoxRequest asked, std::string where)
    : request(std::move(asked)), directory(std::move(where)), sandbox_(sandbox), loop_(loop) {
  namespace fs = std::filesystem;
  fs::create_directories(workspace());
  fs::create_directories(changes());
  for (auto layer = request.layers.rbegin(); layer != request.layers.rend(); ++layer) {
    fs::copy(*layer, workspace(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing | fs::copy_options::copy_symlinks);
  }
  workspace_fd_ = ::open(workspace().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  changes_fd_ = ::open(changes().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  SLUICE_CHECK(workspace_fd_ >= 0 && changes_fd_ >= 0);
  sandbox_.boxes.push_back(this);
}

inline FakeBox::~FakeBox() {
  end_all({.cause = ExitCause::stopped});
  ::close(workspace_fd_);
  ::close(changes_fd_);
  std::erase(sandbox_.boxes, this);
}

inline std::unique_ptr<Process> FakeBox::start(Command command, ProcessListener& listener) {
  auto state = std::make_shared<FakeProcess::State>();
  state->command = std::move(command);
  state->listener = &listener;
  state->input_closed = !state->command.keeps_input;
  commands.push_back(state);
  frozen ? unbegun_.push_back(state) : begin(state);
  return std::make_unique<FakeProcess>(loop_, std::move(state));
}

inline void FakeBox::begin(const std::shared_ptr<FakeProcess::State>& state) {
  if (state->command.timeout_ms > 0) {
    state->deadline = loop_.after({state->command.timeout_ms},
                                  [state] { FakeProcess::end(*state, {.cause = ExitCause::timed_out, .code = 9}); });
  }
  loop_.defer([this, alive = lifetime_.watch(), state] {
    if (alive.is_over()) return;
    if (killed) return FakeProcess::end(*state, {.cause = ExitCause::box_lost});
    FakeResult result = sandbox_.script ? sandbox_.script(*this, state->command) : FakeResult{};
    FakeProcess::say(*state, Stream::out, std::move(result.out));
    FakeProcess::say(*state, Stream::err, std::move(result.err));
    if (result.hangs) return;
    if (result.takes_ms == 0) return FakeProcess::end(*state, std::move(result.exit));
    state->timer = loop_.after({result.takes_ms}, [state, exit = std::move(result.exit)]() mutable {
      FakeProcess::end(*state, std::move(exit));
    });
  });
}

inline void FakeBox::freeze(bool wanted) {
  times_frozen += wanted && !frozen ? 1 : 0;
  frozen = wanted;
  if (frozen) return;
  for (const auto& state : std::exchange(unbegun_, {})) {
    if (!state->dropped) begin(state);
  }
}

inline OwnedFd FakeBox::take_egress_listener() {
  if (std::exchange(egress_taken, true) || !sandbox_.egress_listener) return {};
  return sandbox_.egress_listener(*this);
}

inline OwnedFd FakeBox::take_bridge_listener() {
  if (std::exchange(bridge_taken, true) || !sandbox_.bridge_listener) return {};
  return sandbox_.bridge_listener(*this);
}

inline void FakeBox::kill(Callback<void(Result<Unit>)> done) {
  killed = true;
  loop_.defer(lifetime_.guard([this] { end_all({.cause = ExitCause::stopped}); }));
  if (sandbox_.hold_kills) return sandbox_.held_.push_back(std::move(done));
  Result<Unit> proof = Unit{};
  if (sandbox_.kill_fails_with) proof = *std::exchange(sandbox_.kill_fails_with, std::nullopt);
  loop_.defer([done = std::move(done), proof = std::move(proof)]() mutable { done(std::move(proof)); });
}

}  // namespace sluice::sandbox
