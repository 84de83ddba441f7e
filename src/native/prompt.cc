#include "native/prompt.h"

#include <algorithm>

namespace sluice::native {
namespace {

// Variables alone are of no use without a sandbox, but no step depends on them.
bool are_for_sandbox(const dispatch::Materials& materials) {
  return materials.repository.has_value() || !materials.skills.empty() || !materials.files.empty() ||
         !materials.setup_script.empty();
}

}  // namespace

models::Prompt prompt_of(const dispatch::Dispatch& dispatch) {
  models::Prompt prompt{.model = dispatch.agent.model.name,
                        .max_output_tokens = dispatch.agent.limits.max_output_tokens};
  for (const auto& turn : dispatch.history) prompt.turns.push_back({.role = turn.role, .text = turn.content});
  prompt.turns.push_back({.role = model::Role::user, .text = dispatch.prompt});
  return prompt;
}

std::string_view needs_of_sandbox(const dispatch::Dispatch& dispatch) {
  const auto& kit = dispatch.agent.kit;
  if (are_for_sandbox(dispatch.materials)) return "repository, skills, files or setup script";
  if (dispatch.extras.inference) return "";  // one call of a model, which has no tools
  if (kit.code_mode) return "tool run_script (code_mode)";
  const auto is_in_sandbox = [](const model::McpServer& server) { return server.url.empty(); };
  return std::ranges::any_of(kit.mcp_servers, is_in_sandbox) ? "MCP server without a url" : "";
}

}  // namespace sluice::native
