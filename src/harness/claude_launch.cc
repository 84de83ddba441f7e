#include <algorithm>
#include <cctype>

#include "harness/dialect_makers.h"

namespace sluice::harness {
namespace {

// Tools that outlive the turn (timers, watches) end with the process, and so would only promise.
constexpr std::string_view tools_withheld = "CronCreate,CronDelete,CronList,Monitor,ScheduleWakeup";
constexpr std::string_view host_tools = R"({"mcpServers":{"sluice":{"type":"sdk","name":"sluice"}}})";

// Comes from the sender of the message, and must not be taken for an option or a path.
bool is_session_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && id[0] != '-' &&
         std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

std::map<std::string, std::string> environment_of(const Assignment& assignment) {
  auto environment = program_environment(assignment);
  const std::pair<std::string_view, std::string_view> ours[] = {
      {"ANTHROPIC_BASE_URL", assignment.model.base_url},
      {"ANTHROPIC_API_KEY", assignment.model.key},
      // What it does beside the answer (titles, summaries, subagents) must not ask for a model that is not there.
      {"ANTHROPIC_DEFAULT_HAIKU_MODEL", assignment.model.name},
      {"CLAUDE_CODE_SUBAGENT_MODEL", assignment.model.name},
      {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
      {"DISABLE_AUTOUPDATER", "1"},
      {"DISABLE_ERROR_REPORTING", "1"},
      {"DISABLE_TELEMETRY", "1"},
      // The box is the sandbox; without this it does not run unasked where it believes to be root.
      {"IS_SANDBOX", "1"},
      // The host's tools are listed, not hidden behind a search.
      {"ENABLE_TOOL_SEARCH", "false"},
      // A host's tool may wait for a human; 23 days are the most its clock can count.
      {"MCP_TOOL_TIMEOUT", "2000000000"},
      // The turn ends with its result, and the process with it.
      {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"},
      // One tool that writes the whole list of tasks, instead of one for each change.
      {"CLAUDE_CODE_ENABLE_TASKS", "0"},
      {"CLAUDE_CODE_ENABLE_TODO_TOOLS", "1"},
      // Of its own it waits ten minutes for an answer and asks ten times more.
      {"API_TIMEOUT_MS", "180000"},
      {"CLAUDE_CODE_MAX_RETRIES", "4"},
  };
  for (const auto& [name, value] : ours) environment[std::string(name)] = value;
  return environment;
}

}  // namespace

Result<Launch> plan_claude(const Assignment& assignment) {
  if (assignment.model.dialect != "anthropic") {
    return Error{ErrorKind::invalid,
                 "Claude Code speaks to models by the dialect \"anthropic\" only, and the agent's model \"" +
                     assignment.model.name + "\" speaks \"" + assignment.model.dialect +
                     "\"; give the agent a model of an Anthropic provider, or another agent_type"};
  }
  if (assignment.session_id && !is_session_id(*assignment.session_id)) {
    return Error{ErrorKind::invalid, "\"" + *assignment.session_id + "\" is no id of a session of Claude Code"};
  }
  Launch launch{.environment = environment_of(assignment)};
  auto& argv = launch.argv;
  argv = {assignment.program,
          "-p",
          "--input-format",
          "stream-json",
          "--output-format",
          "stream-json",
          "--verbose",
          "--include-partial-messages",
          "--forward-subagent-text",
          "--permission-prompt-tool",
          "stdio",
          "--strict-mcp-config",
          "--model",
          assignment.model.name};
  argv.insert(argv.end(), {"--permission-mode", assignment.asks ? "default" : "bypassPermissions"});
  // It asks by a hook of ours, which settings in the workspace or in its home could switch off; these come last.
  if (assignment.asks) argv.insert(argv.end(), {"--settings", R"({"disableAllHooks":false})"});
  // A question would never be answered.
  const std::string withheld = assignment.asks ? "" : ",AskUserQuestion";
  argv.insert(argv.end(), {"--disallowedTools", std::string(tools_withheld) + withheld});
  if (!assignment.tools.empty()) {
    argv.insert(argv.end(), {"--mcp-config", std::string(host_tools), "--allowedTools", "mcp__sluice"});
  }
  if (assignment.session_id) {
    // Otherwise the system prompt would be that of the session's first run.
    argv.insert(argv.end(), {"--resume", *assignment.session_id, "--system-prompt-snapshot", "off"});
  }
  return launch;
}

}  // namespace sluice::harness
