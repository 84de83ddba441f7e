// What an agent program is asked: who it is and where it works, and what is wanted of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "programs/program_checkpoint.h"

namespace sluice::programs {

// Added to the program's own: the agent's system prompt, `place` (where it works), and what the client said of its
// situation.
std::string program_system_prompt(const dispatch::Dispatch& dispatch, std::string_view place);

// The message; before it, for a program that has no session to remember them by, the last turns of the conversation.
std::string program_prompt(const dispatch::Dispatch& dispatch, bool has_session);

// For a program whose session goes on after a human agreed to these calls.
std::string resume_prompt(const std::vector<AskedCall>& calls);

}  // namespace sluice::programs
