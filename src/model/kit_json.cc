// Agents' kits, and what comes with messages and answers, as JSON.
#include "model/json.h"

namespace sluice::model {
namespace {

void append_texts(json::Writer& writer, const std::vector<std::string>& texts) {
  writer.begin_array();
  for (const auto& text : texts) writer.string(text);
  writer.end_array();
}

std::optional<std::string> text_if_there(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  if (!value || !value->string()) return std::nullopt;
  return std::string(*value->string());
}

std::string json_of(json::Value object, std::string_view name, std::string_view otherwise) {
  const auto value = object.find(name);
  return value ? value->to_text() : std::string(otherwise);
}

void each_in(json::Value object, std::string_view name, const std::function<void(json::Value)>& visit) {
  if (const auto list = object.find(name)) list->each_element(visit);
}

std::vector<std::string> texts_in(json::Value object, std::string_view name) {
  std::vector<std::string> texts;
  each_in(object, name, [&](json::Value item) { texts.emplace_back(item.string().value_or("")); });
  return texts;
}

std::map<std::string, std::string> map_in(json::Value object, std::string_view name) {
  std::map<std::string, std::string> map;
  if (const auto found = object.find(name)) map = metadata_from_json(*found);
  return map;
}

void append_tool_members(json::Writer& writer, const HostTool& tool) {
  writer.key("name").string(tool.name).key("description").string(tool.description);
  writer.key("parameters").raw(tool.parameters);
}

HostTool tool_from_json(json::Value value) {
  return {text_of(value, "name"), text_of(value, "description"), json_of(value, "parameters", "{}")};
}

void append_oauth(json::Writer& writer, const McpOAuth& oauth) {
  writer.begin_object().key("client_id").string(oauth.client_id).key("client_secret").string(oauth.client_secret);
  if (!oauth.token_url.empty()) writer.key("token_url").string(oauth.token_url);
  if (!oauth.scope.empty()) writer.key("scope").string(oauth.scope);
  if (!oauth.resource.empty()) writer.key("resource").string(oauth.resource);
  writer.end_object();
}

std::optional<McpOAuth> oauth_in(json::Value server) {
  const auto value = server.find("oauth");
  if (!value || value->kind() != json::Kind::object) return std::nullopt;
  return McpOAuth{text_of(*value, "client_id"), text_of(*value, "client_secret"), text_of(*value, "token_url"),
                  text_of(*value, "scope"), text_of(*value, "resource")};
}

void append_server(json::Writer& writer, const McpServer& server) {
  writer.begin_object().key("name").string(server.name);
  if (!server.url.empty()) {
    writer.key("url").string(server.url);
    if (!server.headers.empty()) append_metadata(writer.key("headers"), server.headers);
    if (server.oauth) append_oauth(writer.key("oauth"), *server.oauth);
  } else {
    append_texts(writer.key("command"), server.command);
    if (!server.environment.empty()) append_metadata(writer.key("environment"), server.environment);
  }
  writer.end_object();
}

void append_agui(json::Writer& writer, const AguiNames& agui) {
  writer.begin_object().key("thread_id").string(agui.thread_id).key("run_id").string(agui.run_id);
  if (agui.parent_run_id) writer.key("parent_run_id").string(*agui.parent_run_id);
  if (agui.replaces) writer.key("replaces").string(*agui.replaces);
  writer.key("messages").raw(agui.messages).end_object();
}

int64_t number_of(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return value ? value->integer().value_or(0) : 0;
}

void append_chat(json::Writer& writer, const ChatTurn& chat) {
  writer.begin_object().key("attachments").begin_array();
  for (const auto& file : chat.attachments) {
    writer.begin_object().key("id").string(file.id).key("name").string(file.name).key("type").string(file.type);
    writer.key("size_bytes").integer(file.size_bytes).key("sha256").string(file.sha256);
    writer.key("created_at_ms").integer(file.created_at_ms).key("source").string(file.source).end_object();
  }
  writer.end_array().key("keep_on_disconnect").boolean(chat.keep_on_disconnect);
  writer.key("title").string(chat.title).key("created_at_ms").integer(chat.created_at_ms).end_object();
}

ChatTurn chat_from_json(json::Value value) {
  ChatTurn chat;
  each_in(value, "attachments", [&](json::Value item) {
    chat.attachments.push_back({text_of(item, "id"), text_of(item, "name"), text_of(item, "type"),
                                number_of(item, "size_bytes"), text_of(item, "sha256"),
                                number_of(item, "created_at_ms"), text_of(item, "source")});
  });
  const auto keep = value.find("keep_on_disconnect");
  chat.keep_on_disconnect = keep && keep->boolean().value_or(false);
  chat.title = text_of(value, "title");
  chat.created_at_ms = number_of(value, "created_at_ms");
  return chat;
}

void append_inference(json::Writer& writer, const Inference& inference) {
  const auto& model = inference.model;
  writer.begin_object().key("provider").string(model.provider).key("name").string(model.name);
  writer.key("base_url").string_or_null(model.base_url).key("key_alias").string_or_null(model.key_alias);
  writer.key("system_prompt").string(inference.system_prompt);
  writer.key("max_output_tokens").integer(inference.max_output_tokens).end_object();
}

Inference inference_from_json(json::Value value) {
  return {{text_of(value, "provider"), text_of(value, "name"), text_if_there(value, "base_url"),
           text_if_there(value, "key_alias")},
          text_of(value, "system_prompt"),
          number_of(value, "max_output_tokens")};
}

}  // namespace

void append_kit_members(json::Writer& writer, const AgentKit& kit) {
  writer.key("agent_type").string(kit.agent_type);
  append_texts(writer.key("command"), kit.command);
  writer.key("mcp_servers").begin_array();
  for (const auto& server : kit.mcp_servers) append_server(writer, server);
  writer.end_array().key("tools").begin_array();
  for (const auto& webhook : kit.tools) {
    writer.begin_object();
    append_tool_members(writer, webhook.tool);
    writer.key("url").string(webhook.url).key("timeout_seconds").integer(webhook.timeout_seconds).end_object();
  }
  writer.end_array().key("code_mode").boolean(kit.code_mode);
  writer.key("workspace").string(name_of(kit.workspace));
}

AgentKit kit_from_json(json::Value value) {
  AgentKit kit;
  if (const auto type = text_of(value, "agent_type"); !type.empty()) kit.agent_type = type;
  kit.command = texts_in(value, "command");
  each_in(value, "mcp_servers", [&](json::Value item) {
    kit.mcp_servers.push_back({text_of(item, "name"), text_of(item, "url"), map_in(item, "headers"),
                               texts_in(item, "command"), map_in(item, "environment"), oauth_in(item)});
  });
  each_in(value, "tools", [&](json::Value item) {
    const auto seconds = item.find("timeout_seconds");
    kit.tools.push_back({tool_from_json(item), text_of(item, "url"), seconds ? seconds->integer().value_or(60) : 60});
  });
  const auto code_mode = value.find("code_mode");
  kit.code_mode = code_mode && code_mode->boolean().value_or(false);
  // An agent that was kept before there was this member has none: what needs more is given it by its skills.
  kit.workspace = workspace_use_named(text_of(value, "workspace")).value_or(WorkspaceUse::none);
  return kit;
}

void append_extras_members(json::Writer& writer, const RunExtras& extras) {
  if (extras.session_id) writer.key("session_id").string(*extras.session_id);
  if (!extras.client_tools.empty()) {
    writer.key("client_tools").begin_array();
    for (const auto& tool : extras.client_tools) {
      append_tool_members(writer.begin_object(), tool);
      writer.end_object();
    }
    writer.end_array();
  }
  if (!extras.context.empty()) {
    writer.key("context").begin_array();
    for (const auto& note : extras.context) {
      writer.begin_object().key("description").string(note.description).key("value").string(note.value).end_object();
    }
    writer.end_array();
  }
  if (extras.agui) append_agui(writer.key("agui"), *extras.agui);
  if (extras.chat) append_chat(writer.key("chat"), *extras.chat);
  if (extras.inference) append_inference(writer.key("inference"), *extras.inference);
  if (!extras.sandbox_url.empty()) writer.key("sandbox_url").string(extras.sandbox_url);
  if (!extras.builtin_skills.empty()) append_texts(writer.key("builtin_skills"), extras.builtin_skills);
}

RunExtras extras_from_json(json::Value value) {
  RunExtras extras;
  extras.session_id = text_if_there(value, "session_id");
  each_in(value, "client_tools", [&](json::Value item) { extras.client_tools.push_back(tool_from_json(item)); });
  each_in(value, "context",
          [&](json::Value item) { extras.context.push_back({text_of(item, "description"), text_of(item, "value")}); });
  if (const auto agui = value.find("agui")) {
    extras.agui =
        AguiNames{text_of(*agui, "thread_id"), text_of(*agui, "run_id"), text_if_there(*agui, "parent_run_id"),
                  json_of(*agui, "messages", "[]"), text_if_there(*agui, "replaces")};
  }
  if (const auto chat = value.find("chat")) extras.chat = chat_from_json(*chat);
  if (const auto inference = value.find("inference")) extras.inference = inference_from_json(*inference);
  extras.sandbox_url = text_of(value, "sandbox_url");
  extras.builtin_skills = texts_in(value, "builtin_skills");
  return extras;
}

std::string to_json(const GateAnswers& answers) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (answers.agui_run_id) writer.key("agui_run_id").string(*answers.agui_run_id);
  writer.key("results").begin_array();
  for (const auto& result : answers.results) {
    writer.begin_object().key("call_id").string(result.call_id).key("content").string(result.content);
    writer.key("failed").boolean(result.failed).end_object();
  }
  writer.end_array().end_object();
  return out;
}

GateAnswers answers_from_json(json::Value value) {
  GateAnswers answers;
  answers.agui_run_id = text_if_there(value, "agui_run_id");
  each_in(value, "results", [&](json::Value item) {
    const auto failed = item.find("failed");
    answers.results.push_back(
        {text_of(item, "call_id"), text_of(item, "content"), failed && failed->boolean().value_or(false)});
  });
  return answers;
}

}  // namespace sluice::model
