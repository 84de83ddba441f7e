#include "harness/dialect_makers.h"

namespace sluice::harness {

Result<Launch> plan_launch(const Assignment& assignment) {
  if (assignment.agent_type == "claude-code") return plan_claude(assignment);
  if (assignment.agent_type == "codex") return plan_codex(assignment);
  return plan_acp(assignment);
}

std::unique_ptr<Dialect> make_dialect(const Assignment& assignment) {
  if (assignment.agent_type == "claude-code") return make_claude(assignment);
  if (assignment.agent_type == "codex") return make_codex(assignment);
  return make_acp(assignment);
}

bool can_defer(std::string_view agent_type) { return agent_type == "claude-code"; }

std::string resume_prompt(const ProgramCall& call) {
  return "Your call of the tool " + call.name +
         " was held back until a human agreed, and was not carried out. The human has agreed now. Call " + call.name +
         " again with exactly these arguments, then go on with your work: " + call.arguments;
}

std::string session_event_name(std::string_view agent_type) { return std::string(agent_type) + ".session-id"; }

}  // namespace sluice::harness
