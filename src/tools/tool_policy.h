// What the agent's policy says of a call, before it is carried out. Pure.
#pragma once

#include <string>

#include "gates/gates.h"
#include "model/model.h"
#include "models/models.h"
#include "tools/ask_tools.h"
#include "tools/sandbox_tools.h"

namespace sluice::tools {

// The strictest of what it says of the tool, of the command (bash), and of the path (the other tools of the sandbox).
gates::Ruling rule_on_call(const model::Policy& policy, const models::ToolCall& call, const ToolPlan& plan);
// Of a tool that is carried out elsewhere: what it says of its name.
gates::Ruling rule_on_host_call(const model::Policy& policy, const models::ToolCall& call);

// Why it is not done, for the model.
std::string refusal_words(const gates::Ruling& ruling);
// The same where a human should be asked and none can be.
std::string unasked_words(const gates::Ruling& ruling);
// What a human is asked about it.
ApprovalRequest approval_request_for(const gates::Ruling& ruling, const models::ToolCall& call, const ToolPlan& plan);
ApprovalRequest approval_request_for(const gates::Ruling& ruling, const models::ToolCall& call);

}  // namespace sluice::tools
