// A sandbox for tests: commands are answered by a script, boxes have real directories, and what can
// go wrong goes wrong when the test says so.
//
//   FakeSandbox sandbox(loop, directory);
//   sandbox.script = [](FakeBox& box, const Command& command) { return FakeResult{.out = "hi\n"}; };
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/sandbox.h"

namespace sluice::sandbox {

class FakeBox;
class FakeSandbox;

// How a command behaves.
struct FakeResult {
  std::string out;
  std::string err;
  Exit exit;
  bool hangs = false;  // does not end by itself: until FakeBox::end(), stop(), its timeout or the box's end
  int64_t takes_ms = 0;
};

class FakeProcess final : public Process {
 public:
  // What outlives the Process, so that callbacks under way find out that nobody listens.
  struct State {
    Command command;
    ProcessListener* listener = nullptr;  // null: dropped or ended
    bool dropped = false;
    bool paused = false;
    bool stopped = false;
    std::vector<std::pair<Stream, std::string>> unread;
    std::optional<Exit> ended;
    world::Timer timer;
    world::Timer deadline;
  };

  FakeProcess(world::Loop& loop, std::shared_ptr<State> state) : loop_(loop), state_(std::move(state)) {}
  ~FakeProcess() override {
    state_->dropped = true;
    state_->listener = nullptr;
    if (state_->command.background) return;
    state_->timer.cancel();
    state_->deadline.cancel();
  }
  void stop() override {
    state_->stopped = true;
    loop_.defer([state = state_] { end(*state, {.cause = ExitCause::stopped, .code = 15}); });
  }
  void pause(bool paused) override {
    state_->paused = paused;
    if (!paused) loop_.defer([state = state_] { flush(*state); });
  }

  static void say(State& state, Stream stream, std::string bytes) {
    if (state.listener == nullptr || state.ended || bytes.empty()) return;
    state.unread.emplace_back(stream, std::move(bytes));
    flush(state);
  }
  static void end(State& state, Exit exit) {
    if (state.listener == nullptr || state.ended) return;
    state.ended = std::move(exit);
    state.timer.cancel();
    state.deadline.cancel();
    flush(state);
  }

 private:
  static void flush(State& state) {
    while (!state.paused && state.listener != nullptr && !state.unread.empty()) {
      auto [stream, bytes] = std::move(state.unread.front());
      state.unread.erase(state.unread.begin());
      state.listener->on_output(stream, bytes);
    }
    if (state.paused || state.listener == nullptr || !state.unread.empty() || !state.ended) return;
    std::exchange(state.listener, nullptr)->on_exit(*state.ended);
  }

  world::Loop& loop_;
  const std::shared_ptr<State> state_;
};

// Opened by FakeSandbox. A test finds it in FakeSandbox::boxes for as long as its owner keeps it.
class FakeBox final : public Box {
 public:
  FakeBox(FakeSandbox& sandbox, world::Loop& loop, BoxRequest asked, std::string directory);
  ~FakeBox() override;

  std::unique_ptr<Process> start(Command command, ProcessListener& listener) override;
  int workspace_fd() const override { return workspace_fd_; }
  int changes_fd() const override { return changes_fd_; }
  bool was_warm() const override { return true; }
  void on_lost(Callback<void(std::string)> then) override { lost_ = std::move(then); }
  void kill(Callback<void()> done) override;

  // ── for the test ──
  const BoxRequest request;
  const std::string directory;                                // has workspace/ and changes/
  std::vector<std::shared_ptr<FakeProcess::State>> commands;  // all that were started, in order
  bool killed = false;

  // The box goes away under whoever uses it.
  void lose(std::string what) {
    loop_.defer([this, alive = std::weak_ptr(alive_), what = std::move(what)]() mutable {
      if (alive.expired() || killed) return;
      end_all({.cause = ExitCause::box_lost, .what = what});
      if (!alive.expired() && lost_) std::exchange(lost_, nullptr)(std::move(what));
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
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  int workspace_fd_ = -1;
  int changes_fd_ = -1;
  Callback<void(std::string)> lost_;
};

class FakeSandbox final : public Sandbox {
 public:
  FakeSandbox(world::Loop& loop, std::string directory) : loop_(loop), directory_(std::move(directory)) {}
  ~FakeSandbox() override { SLUICE_CHECK(boxes.empty()); }

  std::string_view driver() const override { return "fake"; }
  const std::vector<Ability>& abilities() const override { return abilities_; }
  void open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) override {
    ++opened;
    if (open_fails_with) {
      loop_.defer([error = *std::exchange(open_fails_with, std::nullopt), done = std::move(done)]() mutable {
        done(std::move(error));
      });
      return;
    }
    loop_.defer([this, request = std::move(request), done = std::move(done)]() mutable {
      done(std::unique_ptr<Box>(
          std::make_unique<FakeBox>(*this, loop_, std::move(request), directory_ + "/box-" + std::to_string(++made_))));
    });
  }
  void close(Callback<void()> done) override {
    for (FakeBox* box : std::vector(boxes)) box->end_all({.cause = ExitCause::stopped});
    loop_.defer(std::move(done));
  }

  // ── for the test ──
  std::function<FakeResult(FakeBox&, const Command&)> script;  // none: commands end at once, silent, with 0
  std::optional<Error> open_fails_with;                        // the next open only
  bool hold_kills = false;                                     // done of kill() waits for release_kills()
  int opened = 0;
  std::vector<FakeBox*> boxes;  // alive, oldest first

  void release_kills() {
    hold_kills = false;
    for (auto& done : std::exchange(held_, {})) loop_.defer(std::move(done));
  }

 private:
  friend class FakeBox;
  world::Loop& loop_;
  const std::string directory_;
  const std::vector<Ability> abilities_;
  int made_ = 0;
  std::vector<Callback<void()>> held_;
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
  commands.push_back(state);
  if (state->command.timeout_ms > 0) {
    state->deadline = loop_.after({state->command.timeout_ms},
                                  [state] { FakeProcess::end(*state, {.cause = ExitCause::timed_out, .code = 9}); });
  }
  loop_.defer([this, alive = std::weak_ptr(alive_), state] {
    if (alive.expired()) return;
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
  return std::make_unique<FakeProcess>(loop_, std::move(state));
}

inline void FakeBox::kill(Callback<void()> done) {
  killed = true;
  loop_.defer([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) end_all({.cause = ExitCause::stopped});
  });
  if (sandbox_.hold_kills) return sandbox_.held_.push_back(std::move(done));
  loop_.defer(std::move(done));
}

}  // namespace sluice::sandbox
