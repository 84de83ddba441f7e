#include <algorithm>

#include "base/json.h"
#include "harness/dialect_makers.h"
#include "harness/harness.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace {

// Of a program's package for this machine: the name's middle, which npm chooses by the processor too.
#if defined(__aarch64__)
#define SLUICE_NPM_CPU "arm64"
#define SLUICE_RUST_CPU "aarch64"
#else
#define SLUICE_NPM_CPU "x64"
#define SLUICE_RUST_CPU "x86_64"
#endif

constexpr Program known[] = {
    {"claude-code", "@anthropic-ai/claude-code", "2.1.325",
     "node_modules/@anthropic-ai/claude-code-linux-" SLUICE_NPM_CPU "/claude", "claude"},
    {"codex", "@openai/codex", "0.166.0",
     "node_modules/@openai/codex-linux-" SLUICE_NPM_CPU "/vendor/" SLUICE_RUST_CPU "-unknown-linux-musl/bin/codex",
     "codex"},
    {"opencode", "opencode-ai", "1.18.33", "node_modules/opencode-linux-" SLUICE_NPM_CPU "/bin/opencode", "opencode"},
    {"grok-build", "@xai-official/grok", "1.0.41", "node_modules/@xai-official/grok-linux-" SLUICE_NPM_CPU "/bin/grok",
     "grok"},
};

}  // namespace

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

// Codex tells of its commands by another name, and in another form, than its model calls them.
std::string resume_prompt(const ProgramCall& call) {
  const auto arguments = json::Document::parse(call.arguments);
  if (call.name == "command_execution" && arguments) {
    const auto root = arguments.value().root();
    const auto directory = text_in(root, "cwd");
    return "Your command was held back until a human agreed, and was not run. The human has agreed now. Run exactly "
           "this "
           "command again" +
           (directory.empty() ? "" : " in " + std::string(directory)) +
           ", then go on with your work: " + std::string(text_in(root, "command"));
  }
  return "Your call of the tool " + call.name +
         " was held back until a human agreed, and was not carried out. The human has agreed now. Call " + call.name +
         " again with exactly these arguments, then go on with your work: " + call.arguments;
}

std::string session_event_name(std::string_view agent_type) { return std::string(agent_type) + ".session-id"; }

std::span<const Program> programs() { return known; }

const Program* find_program(std::string_view agent_type) {
  const auto* const found = std::ranges::find(known, agent_type, &Program::agent_type);
  return found == std::end(known) ? nullptr : found;
}

}  // namespace sluice::harness
