// What the agent's policy says of a call, before it is carried out. Pure.
#pragma once

#include <string>

#include "gates/gates.h"
#include "model/model.h"
#include "models/models.h"
#include "runner/ask_tools.h"
#include "runner/tools.h"

namespace sluice::runner {

// The strictest of what it says of the tool, of the command (bash), and of the path (the other tools of the sandbox).
gates::Ruling rule_on_call(const model::Policy& policy, const models::ToolCall& call, const ToolPlan& plan);
// Of a tool that is carried out elsewhere: what it says of its name.
gates::Ruling rule_on_host_call(const model::Policy& policy, const models::ToolCall& call);

// Why it is not done, for the model.
std::string refusal_words(const gates::Ruling& ruling);
// The same where a human should be asked and none can be.
std::string unasked_words(const gates::Ruling& ruling);
// What a human is asked about it.
Asking asking_about(const gates::Ruling& ruling, const models::ToolCall& call, const ToolPlan& plan);
Asking asking_about(const gates::Ruling& ruling, const models::ToolCall& call);

}  // namespace sluice::runner
