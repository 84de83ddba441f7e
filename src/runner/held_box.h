// A box from the moment it is asked for to the proof that it is gone, wherever its owner stands when
// it wants no more of it.
#pragma once

#include <memory>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "sandbox/sandbox.h"
#include "world/world.h"

namespace sluice::runner {

class HeldBox {
 public:
  explicit HeldBox(world::Loop& loop) : state_(std::make_shared<State>(State{loop})) {}
  HeldBox(const HeldBox&) = delete;
  HeldBox& operator=(const HeldBox&) = delete;
  // Kills what is inside; the proof is the sandbox's business.
  ~HeldBox();

  // Once. Dropping this drops the question.
  void open(sandbox::Sandbox& sandbox, sandbox::BoxRequest request, Callback<void(Result<Unit>)> then);
  // Open, and not killed.
  bool is_there() const { return state_->box != nullptr && !state_->killing; }
  // Null before it is open.
  sandbox::Box* box() const { return state_->box.get(); }

  // Kills what is inside, or will be; `gone` when it is proven, also when there never was a box, and
  // also after this is dropped. Never from inside. The box's descriptors stay good for as long as
  // this lives.
  void kill(Callback<void()> gone);

 private:
  // Shared with the sandbox's answers, which may come when this is gone.
  struct State {
    world::Loop& loop;
    std::unique_ptr<sandbox::Box> box;
    bool opening = false;
    bool killing = false;
    bool dead = false;
    bool dropped = false;
    std::vector<Callback<void()>> waiting;  // for the proof
  };
  static void arrive(const std::shared_ptr<State>& state, Result<std::unique_ptr<sandbox::Box>> box,
                     Callback<void(Result<Unit>)> then);
  static void prove(const std::shared_ptr<State>& state);
  static void end(State& state);

  const std::shared_ptr<State> state_;
};

}  // namespace sluice::runner
