#include "api/inputs/kit_input.h"

#include <algorithm>

#include "model/session_id.h"
#include "net/net.h"

namespace sluice::api {
namespace {

constexpr std::string_view server_names[] = {"name", "url", "headers", "oauth", "command", "environment"};
constexpr std::string_view oauth_names[] = {"client_id", "client_secret", "token_url", "scope", "resource"};
constexpr std::string_view session_names[] = {"sessionId", "model", "tools"};
constexpr std::string_view tool_names[] = {"name", "description", "parameters", "url", "timeout_seconds"};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2'048};
constexpr TextRule client_rule{.chars_min = 1, .chars_max = 512};
constexpr TextRule scope_rule{.chars_max = 1'024};
constexpr TextRule description_rule{.chars_max = 4'000};
constexpr std::size_t servers_max = 16;
constexpr std::size_t tools_max = 64;
constexpr std::size_t words_max = 64;
constexpr TextRule word_rule{.chars_max = 4'096, .bytes_max = 4'096};
constexpr std::size_t schema_bytes_max = 32'768;
constexpr int64_t tool_seconds_max = 3'600;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_server_name(std::string_view name) {
  const auto fits = [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= 32 && name[0] != '_' && name[0] != '-' && std::ranges::all_of(name, fits);
}

bool is_tool_name(std::string_view name) {
  const auto fits = [](char c) { return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= 64 && (is_lower(name[0]) || is_upper(name[0])) &&
         std::ranges::all_of(name, fits);
}

std::vector<std::string> read_command(const Fields& fields, std::string_view name) {
  auto words = fields.texts(name, words_max, word_rule).value_or(std::vector<std::string>{});
  if (!words.empty() && words[0].empty()) fields.refuse_at(std::string(name) + "/0", "must name a program");
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].find('\0') != std::string::npos) {
      fields.refuse_at(std::string(name) + "/" + std::to_string(i), "must not contain NUL");
    }
  }
  return words;
}

std::string read_url(const RequestPtr& request, const Fields& fields, std::string_view name = "url") {
  auto url = fields.text(name, url_rule).value_or("");
  if (url.empty()) return url;
  if (!net::is_plain_url(url)) {
    fields.refuse(name, "must be an http or https URL without credentials, query or fragment");
  } else if (!net::is_allowed(url, request->services().options.tool_urls)) {
    fields.refuse(name, "is not among the URLs where this server may call tools (its configuration, tools.urls)");
  }
  return url;
}

void refuse_unknown(const Fields& fields, NameList known, std::string_view what) {
  for (const auto& name : fields.names()) {
    if (std::ranges::find(known, name) == known.end()) fields.refuse(name, "is no member of " + std::string(what));
  }
}

std::map<std::string, std::string> read_headers(const Fields& fields) {
  auto headers = fields.metadata("headers").value_or(std::map<std::string, std::string>{});
  const auto inner = headers.empty() ? std::nullopt : fields.object("headers", {});
  for (const auto& [name, value] : headers) {
    if (const auto fault = net::fault_of_header(name, value); !fault.empty()) inner->refuse(name, std::string(fault));
  }
  return headers;
}

// Only "{{secret:ALIAS}}": every reader of an agent sees this field, so the value itself is refused.
bool is_placeholder(std::string_view text) {
  constexpr std::string_view begin = "{{secret:";
  constexpr std::string_view end = "}}";
  if (!text.starts_with(begin) || !text.ends_with(end) || text.size() <= begin.size() + end.size()) return false;
  return model::is_alias(text.substr(begin.size(), text.size() - begin.size() - end.size()));
}

bool is_scope(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::optional<model::McpOAuth> read_oauth(const RequestPtr& request, const Fields& server) {
  const auto fields = server.object("oauth", oauth_names);
  if (!fields) return std::nullopt;
  refuse_unknown(*fields, oauth_names, "oauth: client_id, client_secret, token_url, scope, resource");
  fields->require("client_id");
  fields->require("client_secret");
  model::McpOAuth out{.client_id = fields->text("client_id", client_rule).value_or(""),
                      .client_secret = fields->text("client_secret", client_rule).value_or(""),
                      .token_url = read_url(request, *fields, "token_url"),
                      .scope = fields->text("scope", scope_rule).value_or(""),
                      .resource = fields->text("resource", url_rule).value_or("")};
  if (!out.client_secret.empty() && !is_placeholder(out.client_secret)) {
    fields->refuse("client_secret", "must be {{secret:ALIAS}}, the alias of a secret, and not the secret itself");
  }
  if (!is_scope(out.scope)) fields->refuse("scope", "must be scopes parted by spaces, in ASCII without quotes");
  if (!is_scope(out.resource) || out.resource.find_first_of(" #") != std::string::npos) {
    fields->refuse("resource", "must be a URI without a fragment");
  }
  return out;
}

model::McpServer read_server(const RequestPtr& request, const Fields& fields) {
  refuse_unknown(fields, server_names, "an MCP server: name, url, headers, oauth, command, environment");
  model::McpServer out;
  fields.require("name");
  out.name = fields.text("name", name_rule).value_or("");
  if (!out.name.empty() && !is_server_name(out.name)) {
    fields.refuse("name", "must be lower case letters, digits, _ and -, at most 32: ^[a-z0-9][a-z0-9_-]{0,31}$");
  }
  out.url = read_url(request, fields);
  out.headers = read_headers(fields);
  out.oauth = read_oauth(request, fields);
  out.command = read_command(fields, "command");
  out.environment = fields.env("environment").value_or(std::map<std::string, std::string>{});
  const bool has_url = fields.given("url") && !fields.null("url");
  if (has_url == !out.command.empty()) fields.refuse("url", "is needed, or else command; not both");
  if (!has_url && !out.headers.empty()) fields.refuse("headers", "belong to a url");
  if (!has_url && out.oauth) fields.refuse("oauth", "belongs to a url");
  const auto is_authorization = [](const auto& header) {
    return net::Headers{{header.first, ""}}.find("authorization").has_value();
  };
  if (out.oauth && std::ranges::any_of(out.headers, is_authorization)) {
    fields.refuse("oauth", "sets the header Authorization, which headers has too; leave one of them out");
  }
  if (has_url && !out.environment.empty()) fields.refuse("environment", "belongs to a command");
  return out;
}

std::vector<model::McpServer> read_servers(const RequestPtr& request, const Fields& fields) {
  std::vector<model::McpServer> out;
  const auto given = fields.objects("mcp_servers", server_names, servers_max);
  for (const auto& server : given.value_or(std::vector<Fields>{})) {
    out.push_back(read_server(request, server));
    const auto taken = std::ranges::find(out.begin(), out.end() - 1, out.back().name, &model::McpServer::name);
    if (taken != out.end() - 1 && !out.back().name.empty()) server.refuse("name", "is named twice");
  }
  return out;
}

std::vector<model::WebhookTool> read_tools(const RequestPtr& request, const Fields& fields) {
  std::vector<model::WebhookTool> out;
  const auto given = fields.objects("tools", tool_names, tools_max);
  for (const auto& tool : given.value_or(std::vector<Fields>{})) {
    refuse_unknown(tool, tool_names, "a tool: name, description, parameters, url, timeout_seconds");
    model::WebhookTool made{.tool = read_host_tool(tool)};
    tool.require("url");
    made.url = read_url(request, tool);
    made.timeout_seconds = tool.integer("timeout_seconds", 1, tool_seconds_max).value_or(made.timeout_seconds);
    for (const auto& other : out) {
      if (other.tool.name == made.tool.name && !made.tool.name.empty()) tool.refuse("name", "is named twice");
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace

bool names_kit(const Fields& fields) {
  return std::ranges::any_of(kit_names, [&](std::string_view name) { return fields.given(name); });
}

std::string agent_type_words() {
  std::string words;
  for (const auto type : model::agent_types) words += (words.empty() ? "" : ", ") + std::string(type);
  return words;
}

model::HostTool read_host_tool(const Fields& fields) {
  model::HostTool out;
  fields.require("name");
  out.name = fields.text("name", name_rule).value_or("");
  if (!out.name.empty() && !is_tool_name(out.name)) {
    fields.refuse("name", "must be letters, digits, _ and -, at most 64, and begin with a letter");
  }
  out.description = fields.text("description", description_rule).value_or("");
  out.parameters = fields.object_text("parameters").value_or(R"({"type":"object"})");
  if (out.parameters.size() > schema_bytes_max) {
    fields.refuse("parameters", "must not be longer than " + std::to_string(schema_bytes_max) + " bytes");
  }
  return out;
}

model::AgentKit read_kit(const RequestPtr& request, const Fields& fields, const model::AgentKit& before) {
  model::AgentKit out = before;
  const model::AgentKit defaults;
  if (fields.null("agent_type")) {
    out.agent_type = defaults.agent_type;
  } else if (const auto type = fields.text("agent_type", name_rule)) {
    if (!model::is_agent_type(*type)) fields.refuse("agent_type", "must be one of " + agent_type_words());
    out.agent_type = *type;
  }
  if (fields.given("command")) out.command = read_command(fields, "command");
  if (out.agent_type == "acp" && out.command.empty()) {
    fields.refuse("command", "is required for an agent of the type acp: the program and its arguments");
  } else if (out.agent_type != "acp" && !out.command.empty()) {
    fields.refuse("command", "belongs to agents of the type acp");
  }
  if (fields.given("mcp_servers")) out.mcp_servers = read_servers(request, fields);
  if (fields.given("tools")) out.tools = read_tools(request, fields);
  if (fields.given("code_mode")) out.code_mode = fields.boolean("code_mode").value_or(false);
  if (fields.null("workspace")) {
    out.workspace = defaults.workspace;
  } else if (const auto use = fields.text("workspace", name_rule)) {
    const auto known = model::workspace_use_named(*use);
    if (!known) fields.refuse("workspace", "must be one of none, read, write");
    out.workspace = known.value_or(defaults.workspace);
  }
  return out;
}

std::optional<std::string> read_session_id(const Fields& fields, std::string_view name) {
  const auto read = [](const Fields& of, std::string_view called) -> std::optional<std::string> {
    auto text = of.text(called, {.chars_max = 4'096});
    if (!text || model::is_session_id(*text)) return text;
    of.refuse(called, "must be a session's id: letters, digits, _, :, - and ., at most " +
                          std::to_string(model::session_id_chars_max) + ", not beginning with - or .");
    return std::nullopt;
  };
  const bool is_value = fields.given(name) && !fields.null(name) && !fields.is_text(name);
  if (!is_value) return read(fields, name);
  const auto value = fields.object(name, session_names);
  if (!value) return std::nullopt;
  value->require("sessionId");
  return read(*value, "sessionId");
}

}  // namespace sluice::api
