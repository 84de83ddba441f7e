// What Codex does in a turn, item by item: which of them are calls, what they are called with and what became of them.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "harness/harness.h"

namespace sluice::harness {

// The name of the host's tools as a server of MCP.
inline constexpr std::string_view bridge_name = "sluice";

// Empty: it is not a call.
std::optional<ProgramCall> call_of_item(const json::Value& item);
// The call whose approval `params` ask for, if its item was never reported.
ProgramCall call_of_approval(const json::Value& params);

struct ItemEnd {
  std::string text;
  bool failed = false;
};
ItemEnd end_of_item(const json::Value& item);

// The script in "/bin/bash -lc 'script'": what the model wrote, and what rules are written for.
std::string script_in(std::string_view command);

}  // namespace sluice::harness
