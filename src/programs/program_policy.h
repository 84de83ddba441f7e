// How the agent's policy rules on what an agent program would do. The program's tools have names of their own; rules
// speak of commands, files and tools, so its calls are read for the command they run and the paths they touch. Pure.
//
// A program asks before what it thinks needs leave, and reads files unasked, say; what it does not ask about is bounded
// by the sandbox only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"
#include "harness/harness.h"
#include "model/model.h"
#include "tools/tools.h"

namespace sluice::programs {

struct ProgramAct {
  std::string command;             // a line of shell; empty: it runs none
  std::vector<std::string> paths;  // as the program wrote them
};
ProgramAct act_of(const harness::ProgramCall& call);

// The tool of our own that does the same: "bash" of "Bash" and of "run_terminal_command"; empty: there is none.
std::string_view native_name(std::string_view tool);

// The strictest of what it says of the tool by either name, of the command and of the paths.
gates::Ruling rule_on_program_call(const model::Policy& policy, const harness::ProgramCall& call);
// What a human is asked about it, in words.
tools::ApprovalRequest approval_request_for_program_call(const gates::Ruling& ruling, const harness::ProgramCall& call);

// The refusal of a call for the reader of the run: "Bash (rm -rf /) was refused by policy: …". `why` is what the
// program gets as the reason.
std::string refused_call_words(const harness::ProgramCall& call, std::string_view why);

// Whether any rule can ask about or deny a call: otherwise the program need not ask at all.
bool may_object(const model::Policy& policy);

}  // namespace sluice::programs
