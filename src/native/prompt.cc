#include "native/prompt.h"

#include <algorithm>

namespace sluice::native {
namespace {

// Variables alone are of no use without a sandbox, but no step depends on them.
bool are_for_sandbox(const dispatch::Materials& materials) {
  return materials.repository.has_value() || !materials.skills.empty() || !materials.files.empty() ||
         !materials.setup_script.empty();
}

constexpr std::string_view white_space = " \t\r\n";

// The answer's beginning cannot be given to the model as its own to continue: not every provider permits that.
constexpr std::string_view go_on_words =
    "Your answer was cut off after these words by a technical fault, and all of them have reached the reader. "
    "Go on with the very next character. Do not repeat anything, do not begin again, and do not mention that you were "
    "cut off. If the answer was complete, say nothing.";

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

void Continuation::begin(std::string_view emitted, std::vector<models::PromptTurn>& turns) {
  // Providers refuse a turn that is empty but for white space.
  const auto end = emitted.find_last_not_of(white_space);
  if (end == std::string::npos) return;
  is_open_ = true;
  unshown_ = emitted.substr(end + 1);
  turns.push_back({.role = model::Role::assistant, .text = std::string(emitted.substr(0, end + 1))});
  turns.push_back({.role = model::Role::user, .text = std::string(go_on_words)});
}

// The white space at the end of what was emitted was not shown to the model, which may say it again. What it says
// beyond that is its own: the next line may be indented.
void Continuation::join(std::string& text) {
  if (text.find_first_not_of(white_space) != std::string::npos) is_open_ = false;
  const auto said_again = static_cast<std::size_t>(std::ranges::mismatch(text, unshown_).in1 - text.begin());
  unshown_ = said_again == text.size() ? unshown_.substr(said_again) : "";
  text.erase(0, said_again);
}

}  // namespace sluice::native
