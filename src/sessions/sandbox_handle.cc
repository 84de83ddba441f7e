#include "sessions/sandbox_handle.h"

#include <optional>
#include <utility>

namespace sluice::sessions {

SandboxHandle::~SandboxHandle() {
  // A sandbox that is being killed lives in the shared state until its end is proven.
  state_->dropped = true;
  if (!state_->killing || state_->dead) state_->box.reset();
}

void SandboxHandle::open(sandbox::Sandbox& sandbox, sandbox::BoxRequest request, Callback<void(Result<Unit>)> then) {
  SLUICE_CHECK(state_->sandbox == nullptr && state_->box == nullptr);
  state_->sandbox = &sandbox;
  state_->opening = sandbox.open(
      std::move(request), [state = state_, then = std::move(then)](Result<std::unique_ptr<sandbox::Box>> box) mutable {
        arrive(state, std::move(box), std::move(then));
      });
}

void SandboxHandle::arrive(const std::shared_ptr<State>& state, Result<std::unique_ptr<sandbox::Box>> box,
                           Callback<void(Result<Unit>)> then) {
  state->sandbox = nullptr;
  std::optional<Error> trouble;
  if (!box) {
    trouble = std::move(box.error());
  } else {
    state->box = std::move(box).take();
  }
  if (state->killing) return state->box ? prove(state) : end(*state, Unit{});
  if (state->dropped) return state->box.reset();
  then(trouble ? Result<Unit>(std::move(*trouble)) : Result<Unit>(Unit{}));
}

void SandboxHandle::kill(Callback<void(Result<Unit>)> gone) {
  const bool is_first = !std::exchange(state_->killing, true);
  state_->waiting.push_back(std::move(gone));
  if (state_->dead || (is_first && !state_->box && state_->sandbox == nullptr)) {
    state_->loop.defer([state = state_] { end(*state, state->proof); });
  } else if (is_first && state_->box) {
    prove(state_);
  } else if (is_first) {
    // Its answer still comes, and arrive() proves the end of a sandbox that was opened nevertheless.
    state_->sandbox->give_up(state_->opening);
  }
}

void SandboxHandle::prove(const std::shared_ptr<State>& state) {
  state->box->kill([state](Result<Unit> proof) {
    // The sandbox may be dropped at last, but not from inside its own callback.
    state->loop.defer([state, proof = std::move(proof)]() mutable { end(*state, std::move(proof)); });
  });
}

void SandboxHandle::end(State& state, Result<Unit> proof) {
  state.dead = true;
  if (state.dropped) state.box.reset();
  state.proof = proof;
  for (auto& gone : std::exchange(state.waiting, {})) gone(proof);
}

}  // namespace sluice::sessions
