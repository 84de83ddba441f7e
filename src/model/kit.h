// What an agent is made of besides its model: the program that is the agent, and the tools it is given by the host.
// Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

// ── which program is the agent (H-1) ──
// "native" is the loop of our own; "acp" is any program that speaks the Agent Client Protocol.
inline constexpr std::string_view agent_types[] = {"native", "claude-code", "codex", "opencode", "grok-build", "acp"};
bool is_agent_type(std::string_view name);

// ── tools of the host (H-6) ──
// A server of the Model Context Protocol: at a URL, called from outside the box under the agent's policy; or a command,
// started inside the box.
struct McpServer {
  std::string name;                            // `^[a-z0-9][a-z0-9_-]{0,31}$`; its tools are NAME__TOOL
  std::string url;                             // empty: a command
  std::map<std::string, std::string> headers;  // may hold {{secret:ALIAS}}
  std::vector<std::string> command;            // empty: a URL
  std::map<std::string, std::string> environment;
  bool operator==(const McpServer&) const = default;
};

// Something a model may call that somebody else carries out.
struct HostTool {
  std::string name;  // `^[A-Za-z][A-Za-z0-9_-]{0,63}$`
  std::string description;
  std::string parameters = "{}";  // JSON schema of an object
  bool operator==(const HostTool&) const = default;
};

// One that is carried out by a signed call to the tenant's own server.
struct WebhookTool {
  HostTool tool;
  std::string url;
  int64_t timeout_seconds = 60;
  bool operator==(const WebhookTool&) const = default;
};

struct AgentKit {
  std::string agent_type = "native";  // of conversations that do not name one
  std::vector<std::string> command;   // of "acp": the program and its arguments
  std::vector<McpServer> mcp_servers;
  std::vector<WebhookTool> tools;
  bool code_mode = false;  // the tool run_script is offered
  bool operator==(const AgentKit&) const = default;
};

// ── what a message brings along ──
// A piece of a client's own situation, for the model to know.
struct ContextNote {
  std::string description;
  std::string value;
  bool operator==(const ContextNote&) const = default;
};

// An AG-UI client's names for what it started, as it gave them.
struct AguiNames {
  std::string thread_id;
  std::string run_id;
  std::optional<std::string> parent_run_id;
  std::string messages = "[]";  // JSON: the client's messages as it sent them, the user's last
  bool operator==(const AguiNames&) const = default;
};

// Kept in the journal's first event, so that whoever takes the run up has it again.
struct RunExtras {
  std::optional<std::string> session_id;  // of the agent program, to go on with
  std::vector<HostTool> client_tools;     // carried out by the client, between two of its requests
  std::vector<ContextNote> context;
  std::optional<AguiNames> agui;
  bool operator==(const RunExtras&) const = default;
};

// What a tool of the client answered.
struct ClientResult {
  std::string call_id;  // the step's id
  std::string content;
  bool failed = false;
  bool operator==(const ClientResult&) const = default;
};

// What came with the word to go on: the body of an `answers` event.
struct GateAnswers {
  std::optional<std::string> agui_run_id;  // of the AG-UI run that goes on from here
  std::string agui_thread_id;              // where that is one; not part of the event
  std::vector<ClientResult> results;
  bool operator==(const GateAnswers&) const = default;
};

}  // namespace sluice::model
