// How far the tool calls of one round are: all that is needed to go on with them in another life.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "models/models.h"

namespace sluice::tools {

// What a human was asked for the call that waits, and so what the call does once it is approved.
enum class Asked : uint8_t {
  nothing,  // no call waits
  leave,    // the policy asks: it is carried out
  answer,   // request_approval, request_secret: it is answered
  secret,   // its command's request needs a secret: the request goes on, or the command is run again
  passage,  // the same for a host
  client,   // the client carries it out, and those after it that `items` name: they are answered with its results
};

struct CallState {
  std::vector<models::ToolCall> calls;
  std::vector<models::ToolResult> results;  // of the first of them; the next is under way
  std::string step_id;                      // of that one; empty: it has not begun
  int64_t step_used_ms = 0;
  Asked asked = Asked::nothing;
  std::vector<model::RequestedItem> items;  // what was asked for
  std::string host;                         // of Asked::passage
  bool may_run_again = true;                // its command has sent nothing that must not be sent twice
  std::vector<std::string> changed;         // by its command, for people; empty: nothing in the workspace
};

}  // namespace sluice::tools
