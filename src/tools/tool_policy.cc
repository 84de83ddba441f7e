#include "tools/tool_policy.h"

#include <utility>

namespace sluice::tools {
namespace {

using gates::Ruling;
using model::Effect;

constexpr std::size_t shown_bytes_max = 16'000;  // a person cannot judge what they cannot read

int strictness(Effect effect) {
  switch (effect) {
    case Effect::allow: return 0;
    case Effect::ask: return 1;
    case Effect::deny: return 2;
  }
  return 2;
}

// `bash -c COMMAND`; `@read PATH …`, `@glob PATTERN DIR`, `@grep PATTERN DIR …`.
const std::string& command_of(const ToolPlan& plan) { return plan.command.argv[2]; }
const std::string& path_of(const ToolPlan& plan) {
  const auto& argv = plan.command.argv;
  return argv[0] == "@glob" || argv[0] == "@grep" ? argv[2] : argv[1];
}

const std::string& asked_about(const ToolPlan& plan) { return plan.is_shell ? command_of(plan) : path_of(plan); }

Ruling unless_too_long(Ruling ruling, std::string_view shown) {
  if (ruling.effect != Effect::ask || shown.size() <= shown_bytes_max) return ruling;
  ruling.effect = Effect::deny;
  ruling.reason = "a human would have to be asked, and it is too long to be shown to one";
  return ruling;
}

std::string because(const Ruling& ruling) {
  return ruling.reason.empty() ? "the rule on \"" + ruling.pattern + "\"" : ruling.reason;
}

std::string reason_of(const Ruling& ruling) {
  return ruling.reason.empty() ? "The agent's policy wants a human asked before this." : ruling.reason;
}

}  // namespace

Ruling rule_on_call(const model::Policy& policy, const models::ToolCall& call, const ToolPlan& plan) {
  if (policy.empty()) return {};
  auto of_tool = gates::rule_on_tool(policy, call.name);
  auto of_work =
      plan.is_shell ? gates::rule_on_command(policy, command_of(plan)) : gates::rule_on_file(policy, path_of(plan));
  auto ruling = strictness(of_work.effect) > strictness(of_tool.effect) ? std::move(of_work) : std::move(of_tool);
  return unless_too_long(std::move(ruling), asked_about(plan));
}

Ruling rule_on_host_call(const model::Policy& policy, const models::ToolCall& call) {
  return unless_too_long(gates::rule_on_tool(policy, call.name), call.arguments);
}

std::string refusal_words(const Ruling& ruling) { return "refused by policy: " + because(ruling); }

std::string unasked_words(const Ruling& ruling) {
  return "refused by policy: a human would have to be asked, and this runner cannot ask a human (" + because(ruling) +
         ")";
}

ApprovalRequest approval_request_for(const Ruling& ruling, const models::ToolCall& call, const ToolPlan& plan) {
  return {.reason = reason_of(ruling),
          .items = {{.description = (plan.is_shell ? "Run: " : call.name + ": ") + asked_about(plan)}}};
}

ApprovalRequest approval_request_for(const Ruling& ruling, const models::ToolCall& call) {
  return {.reason = reason_of(ruling), .items = {{.description = call.name + ": " + call.arguments}}};
}

}  // namespace sluice::tools
