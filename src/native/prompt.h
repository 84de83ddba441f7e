// The first question of a dispatch to the model, and the question for the rest of an answer that was cut off. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "models/models.h"

namespace sluice::native {

// The conversation so far and the message; no tools yet.
models::Prompt prompt_of(const dispatch::Dispatch& dispatch);
// What the dispatch brings along that works in a sandbox only, in words; empty: nothing.
std::string_view needs_of_sandbox(const dispatch::Dispatch& dispatch);

// The rest of an answer whose beginning was emitted before the run was taken over. The model is shown what it said as a
// turn of its own, without white space at the end, and is asked to continue with the very next character.
class Continuation {
 public:
  // Adds the turns that ask for the rest of `emitted`; none if that is empty but for white space.
  void begin(std::string_view emitted, std::vector<models::PromptTurn>& turns);
  // Nothing of the rest has come yet.
  bool is_open() const { return is_open_; }
  void end() { is_open_ = false; }

  // Takes from the beginning of `text` what was emitted before and not shown to the model.
  void join(std::string& text);

 private:
  bool is_open_ = false;
  std::string unshown_;  // as far as the model did not say it again
};

}  // namespace sluice::native
