// What an agent is made of: its model, the program that is the agent, and the tools it is given by the host; and what a
// message brings along. Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace sluice::model {

// Which model, where, and under which name its key is found. Never the key.
struct ModelChoice {
  std::string provider;  // "offline", "anthropic", "openai-responses", "openai-chat", or a configured name
  std::string name;      // the provider's name for the model
  std::optional<std::string> base_url;
  std::optional<std::string> key_alias;       // a secret of the agent's or the tenant's; empty: the provider's own key
  std::optional<ModelEndpointId> endpoint{};  // from which provider, base_url and key_alias are
  bool operator==(const ModelChoice&) const = default;
};

// ── which program is the agent (H-1) ──
// "native" is the loop of our own; "acp" is any program that speaks the Agent Client Protocol.
inline constexpr std::string_view agent_types[] = {"native", "claude-code", "codex", "opencode", "grok-build", "acp"};
bool is_agent_type(std::string_view name);

// ── tools of the host (H-6) ──
// How this server gets a token for a server of MCP: by client credentials (RFC 6749, section 4.4), without a person.
struct McpOAuth {
  std::string client_id;
  std::string client_secret;  // {{secret:ALIAS}}, never the value
  std::string token_url;      // empty: discovered
  std::string scope;          // empty: what the server's refusal names
  std::string resource;       // empty: what the server's metadata name, or else its URL
  bool operator==(const McpOAuth&) const = default;
};

// A server of the Model Context Protocol: at a URL, called from outside the box under the agent's policy; or a command,
// started inside the box.
struct McpServer {
  std::string name;                            // `^[a-z0-9][a-z0-9_-]{0,31}$`; its tools are NAME__TOOL
  std::string url;                             // empty: a command
  std::map<std::string, std::string> headers;  // may hold {{secret:ALIAS}}
  std::vector<std::string> command;            // empty: a URL
  std::map<std::string, std::string> environment;
  std::optional<McpOAuth> oauth{};  // with a URL only
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

// What a run's sandbox may do with the API of its workspace: tables, files, workflows, and what else the tenant has
// there.
enum class WorkspaceUse : uint8_t { none, read, write };
std::string_view name_of(WorkspaceUse use);
std::optional<WorkspaceUse> workspace_use_named(std::string_view name);

struct AgentKit {
  std::string agent_type = "native";  // of conversations that do not name one
  std::vector<std::string> command;   // of "acp": the program and its arguments
  std::vector<McpServer> mcp_servers;
  std::vector<WebhookTool> tools;
  bool code_mode = false;  // the tool run_script is offered
  // Of every run. A run that is given one of the server's own skills may write in any case: the skill is for that.
  WorkspaceUse workspace = WorkspaceUse::none;
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
  // The id of a user's message of ours: this run stands instead of all that was said from there on.
  std::optional<std::string> replaces = std::nullopt;
  bool operator==(const AguiNames&) const = default;
};

// A file that a person put into a chat's bag and attached to a message: as it was then, so that history shows it
// without asking for it.
struct Attachment {
  std::string id;
  std::string name;
  std::string type;  // its media type
  int64_t size_bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
  int64_t created_at_ms = 0;
  std::string source = "upload";  // as name_of(FileSource) has it
  bool operator==(const Attachment&) const = default;
};

// A turn of a chat with the Assistant.
struct ChatTurn {
  std::vector<Attachment> attachments;
  bool keep_on_disconnect = false;  // it goes on when its last reader has left
  std::string title;                // the chat's, when the turn began, as the next
  int64_t created_at_ms = 0;
  bool operator==(const ChatTurn&) const = default;
};

// One call of a model, without tools, instead of an agent's work.
struct Inference {
  ModelChoice model;  // an empty provider: the agent's
  std::string system_prompt;
  int64_t max_output_tokens = 0;  // 0: the agent's
  bool operator==(const Inference&) const = default;
};

// Kept in the journal's first event, so that whoever takes the run up has it again.
struct RunExtras {
  std::optional<std::string> session_id;  // of the agent program, to go on with
  std::vector<HostTool> client_tools;     // carried out by the client, between two of its requests
  std::vector<ContextNote> context;
  std::optional<AguiNames> agui;
  std::optional<ChatTurn> chat;
  std::optional<Inference> inference;
  std::string sandbox_url;                  // of the runner that shall carry it (S-8); empty: the server's own choice
  std::vector<std::string> builtin_skills;  // that the server itself brings: "tables", "files", "workflow_editor"
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
