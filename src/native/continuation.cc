#include "native/continuation.h"

#include <algorithm>

namespace sluice::native {
namespace {

constexpr std::string_view white_space = " \t\r\n";

// Not a beginning of the answer put into the model's mouth: not every provider lets it go on from one.
constexpr std::string_view go_on_words =
    "Your answer was cut off after these words by a technical fault, and all of them have reached the reader. "
    "Go on with the very next character. Do not repeat anything, do not begin again, and do not mention that you were "
    "cut off. If the answer was complete, say nothing.";

}  // namespace

void Continuation::begin(std::string_view emitted, std::vector<models::PromptTurn>& turns) {
  // Providers refuse a turn that is empty but for white space.
  const auto end = emitted.find_last_not_of(white_space);
  if (end == std::string::npos) return;
  is_open_ = true;
  unshown_ = emitted.substr(end + 1);
  turns.push_back({.role = model::Role::assistant, .text = std::string(emitted.substr(0, end + 1))});
  turns.push_back({.role = model::Role::user, .text = std::string(go_on_words)});
}

// The white space at the end of what was emitted was not shown to the model, which may say it again. What it says
// beyond that is its own: the next line may be indented.
void Continuation::join(std::string& text) {
  if (text.find_first_not_of(white_space) != std::string::npos) is_open_ = false;
  const auto said_again = static_cast<std::size_t>(std::ranges::mismatch(text, unshown_).in1 - text.begin());
  unshown_ = said_again == text.size() ? unshown_.substr(said_again) : "";
  text.erase(0, said_again);
}

}  // namespace sluice::native
