// What a simulated agent does with a prompt. The prompt names a number, and the number decides everything, so that
// whoever answers it again says the same, and a checker knows what must have been said.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"

namespace sluice::sim {

struct Act {
  enum class Kind : uint8_t { text, reasoning, filler, log, usage, step_begins, step_ends, gate, finish, fail, vanish };
  Kind kind = Kind::text;
  int64_t after_ms = 0;
  std::string body;
};

struct Script {
  std::vector<Act> acts;  // the last is finish, fail or vanish

  // What the message of a run that completes must say.
  std::string whole_text() const;
  // Where someone goes on who has told this much; empty when nobody who follows the script has told that.
  std::optional<std::size_t> place_after(std::string_view text, std::string_view reasoning) const;
};

// "number 17: …"
std::string prompt_of(uint64_t number, std::string_view words);
Script script_of(std::string_view prompt);

}  // namespace sluice::sim
