// A command of FakeSandbox's sandboxes: says and does what its test tells it to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/sandbox.h"

namespace sluice::sandbox {

// How a command behaves.
struct FakeResult {
  std::string out;
  std::string err;
  Exit exit;
  bool hangs = false;  // does not end by itself: until FakeBox::end(), stop(), its timeout or the sandbox's end
  int64_t takes_ms = 0;
};

class FakeProcess final : public Process {
 public:
  // What outlives the Process, so that callbacks under way find out that there is no listener.
  struct State {
    Command command;
    ProcessListener* listener = nullptr;  // null: dropped or ended
    bool dropped = false;
    bool paused = false;
    bool stopped = false;
    std::string input;          // what was written after command.input
    bool input_closed = false;  // from the start, unless the command keeps it
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

  void write(std::string_view bytes) override {
    if (!state_->input_closed && !state_->ended) state_->input += bytes;
  }
  void close_input() override { state_->input_closed = true; }
  std::size_t unwritten_bytes() const override { return 0; }

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

}  // namespace sluice::sandbox
