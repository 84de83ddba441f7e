// A sandbox from the moment it is asked for to the proof that it is gone, wherever its owner stands when
// it wants no more of it.
#pragma once

#include <memory>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "sandbox/sandbox.h"
#include "world/world.h"

namespace sluice::sessions {

class SandboxHandle {
 public:
  explicit SandboxHandle(world::Loop& loop) : state_(std::make_shared<State>(State{loop})) {}
  SandboxHandle(const SandboxHandle&) = delete;
  SandboxHandle& operator=(const SandboxHandle&) = delete;
  // Kills what is inside; the proof is the sandbox's business.
  ~SandboxHandle();

  // Once. Dropping this drops the question. `sandbox` must outlive the opening.
  void open(sandbox::Sandbox& sandbox, sandbox::BoxRequest request, Callback<void(Result<Unit>)> then);
  // Open, and not killed.
  bool is_there() const { return state_->box != nullptr && !state_->killing; }
  // Null before it is open.
  sandbox::Box* box() const { return state_->box.get(); }

  // Kills what is inside; `gone` when it is proven, or with the reason why it is not; also when there never was a
  // sandbox, and also after this is dropped. A sandbox that is still being opened is given up and not waited for. Never
  // from inside. The sandbox's descriptors stay good for as long as this lives.
  void kill(Callback<void(Result<Unit>)> gone);

 private:
  // Shared with the sandbox's answers, which may come when this is gone.
  struct State {
    world::Loop& loop;
    std::unique_ptr<sandbox::Box> box;
    sandbox::Sandbox* sandbox = nullptr;  // while it is being opened
    uint64_t opening = 0;
    bool killing = false;
    bool dead = false;
    bool dropped = false;
    Result<Unit> proof = Unit{};                        // once it is dead
    std::vector<Callback<void(Result<Unit>)>> waiting;  // for the proof
  };
  static void arrive(const std::shared_ptr<State>& state, Result<std::unique_ptr<sandbox::Box>> box,
                     Callback<void(Result<Unit>)> then);
  static void prove(const std::shared_ptr<State>& state);
  static void end(State& state, Result<Unit> proof);

  const std::shared_ptr<State> state_;
};

}  // namespace sluice::sessions
