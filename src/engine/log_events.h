// Events in which the engine reports to the readers of a run what it does for the run. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/event_codec.h"

namespace sluice::engine {

inline std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

inline model::RunEvent warning(Timestamp at, std::string_view text) {
  return model::encode(model::events::Log{.level = "warn", .text = std::string(text)}, at);
}

}  // namespace sluice::engine
