#include "model/json.h"

namespace sluice::model {
namespace {

template <typename AnyId>
void append_id(json::Writer& writer, std::string_view key, const AnyId& id) {
  writer.key(key).string(id.text());
}

void append_time(json::Writer& writer, std::string_view key, Timestamp at) { writer.key(key).string(to_rfc3339(at)); }

void append_time(json::Writer& writer, std::string_view key, const std::optional<Timestamp>& at) {
  if (at) {
    append_time(writer, key, *at);
  } else {
    writer.key(key).null();
  }
}

void append_id_or_null(json::Writer& writer, std::string_view key, const auto& id) {
  writer.key(key);
  id ? writer.string(id->text()) : writer.null();
}

// The variables themselves, or the name of the environment that has them.
void append_env(json::Writer& writer, const Message& message) {
  writer.key("env");
  if (message.env) {
    append_metadata(writer, *message.env);
  } else {
    writer.string_or_null(message.env_name);
  }
}

// Text whose absence is the empty string here and null on the wire.
void append_text_or_null(json::Writer& writer, std::string_view key, const std::string& text) {
  writer.key(key);
  text.empty() ? writer.null() : writer.string(text);
}

void append_skill_ids(json::Writer& writer, const std::optional<std::vector<std::string>>& ids) {
  writer.key("skill_ids");
  if (!ids) {
    writer.null();
    return;
  }
  writer.begin_array();
  for (const auto& id : *ids) writer.string(id);
  writer.end_array();
}

// Text that has not come yet is no part.
void append_parts(json::Writer& writer, const std::string& content) {
  writer.key("parts").begin_array();
  if (!content.empty()) writer.begin_object().key("type").string("text").key("text").string(content).end_object();
  writer.end_array();
}

std::optional<std::string> optional_text(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  const auto text = value ? value->string() : std::nullopt;
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::optional<Usage> usage_of(json::Value object) {
  const auto usage = object.find("usage");
  if (!usage || usage->is_null()) return std::nullopt;
  const auto input = usage->find("input_tokens");
  const auto output = usage->find("output_tokens");
  if (!input || !output) return std::nullopt;
  return Usage{input->integer().value_or(0), output->integer().value_or(0)};
}

}  // namespace

void append_metadata(json::Writer& writer, const Metadata& metadata) {
  writer.begin_object();
  for (const auto& [name, value] : metadata) writer.key_escaped(name).string(value);
  writer.end_object();
}

Metadata metadata_from_json(json::Value value) {
  Metadata metadata;
  value.each_member([&](std::string_view name, json::Value member) {
    if (const auto text = member.string()) metadata.emplace(name, *text);
  });
  return metadata;
}

void append_json(std::string& out, const Tenant& tenant) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("tenant");
  append_id(writer, "id", tenant.id);
  writer.key("name").string(tenant.name).key("status").string(name_of(tenant.status));
  const auto& limits = tenant.limits;
  writer.key("settings").begin_object().key("filler_enabled").boolean(tenant.filler_enabled);
  writer.key("weight").integer(limits.weight).key("max_running").integer(limits.max_running);
  writer.key("max_held").integer(limits.max_held);
  writer.key("max_concurrent_sticky").integer(limits.max_concurrent_sticky);
  writer.key("max_sticky_ttl_seconds").integer(limits.max_sticky_ttl_seconds);
  writer.key("require_bound_decisions").boolean(tenant.require_bound_decisions);
  writer.key("agui_unsigned_approvals").boolean(tenant.agui_unsigned_approvals);
  writer.key("webhook_url").string_or_null(tenant.webhook_url).end_object();
  writer.key("metadata");
  append_metadata(writer, tenant.metadata);
  append_time(writer, "created_at", tenant.created_at);
  append_time(writer, "updated_at", tenant.updated_at);
  writer.end_object();
}

void append_json(std::string& out, const ServiceKey& key) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("service_key");
  append_id(writer, "id", key.id);
  append_id(writer, "tenant_id", key.tenant_id);
  writer.key("name").string(key.name).key("hint").string(key.hint);
  append_time(writer, "created_at", key.created_at);
  append_time(writer, "revoked_at", key.revoked_at);
  writer.end_object();
}

void append_json(std::string& out, const ApproverKey& key) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("approver_key");
  append_id(writer, "id", key.id);
  append_id(writer, "key_id", key.id);
  append_id(writer, "tenant_id", key.tenant_id);
  writer.key("name").string(key.name).key("algorithm").string(name_of(key.algorithm));
  append_time(writer, "created_at", key.created_at);
  append_time(writer, "revoked_at", key.revoked_at);
  writer.end_object();
}

void append_json(std::string& out, const Agent& agent) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("agent");
  append_id(writer, "id", agent.id);
  append_id(writer, "tenant_id", agent.tenant_id);
  writer.key("name").string(agent.name).key("system_prompt").string(agent.system_prompt);
  writer.key("model").begin_object().key("provider").string(agent.model.provider);
  writer.key("name").string(agent.model.name).key("base_url").string_or_null(agent.model.base_url);
  writer.key("key_alias").string_or_null(agent.model.key_alias);
  if (agent.model.endpoint) append_id(writer, "endpoint", *agent.model.endpoint);
  writer.end_object();
  writer.key("limits").begin_object().key("max_output_tokens").integer(agent.limits.max_output_tokens);
  writer.key("max_runtime_seconds").integer(agent.limits.max_runtime_seconds);
  writer.key("max_history_messages").integer(agent.limits.max_history_messages).end_object();
  writer.key("skill_ids").begin_array();
  for (const auto& id : agent.skill_ids) writer.string(id.text());
  writer.end_array();
  append_id_or_null(writer, "environment_id", agent.environment_id);
  writer.key("policy");
  append_policy(writer, agent.policy);
  append_kit_members(writer, agent.kit);
  writer.key("is_default").boolean(agent.is_default);
  append_time(writer, "created_at", agent.created_at);
  append_time(writer, "updated_at", agent.updated_at);
  writer.end_object();
}

void append_json(std::string& out, const Conversation& conversation) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("conversation");
  append_id(writer, "id", conversation.id);
  append_id(writer, "tenant_id", conversation.tenant_id);
  append_id(writer, "agent_id", conversation.agent_id);
  if (conversation.kind != ConversationKind::plain) writer.key("kind").string(name_of(conversation.kind));
  writer.key("user_id").string_or_null(conversation.user_id).key("title").string_or_null(conversation.title);
  writer.key("metadata");
  append_metadata(writer, conversation.metadata);
  writer.key("filler");
  if (conversation.filler_enabled) {
    writer.begin_object().key("enabled").boolean(*conversation.filler_enabled).end_object();
  } else {
    writer.null();
  }
  writer.key("repository_id").string_or_null(conversation.repository_id).key("runtime");
  append_runtime(writer, conversation.runtime, conversation.sandbox);
  writer.key("status").string(name_of(conversation.status));
  append_time(writer, "last_message_at", conversation.last_message_at);
  append_time(writer, "created_at", conversation.created_at);
  append_time(writer, "updated_at", conversation.updated_at);
  writer.end_object();
}

void append_json(std::string& out, const Message& message) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("message");
  append_id(writer, "id", message.id);
  append_id(writer, "conversation_id", message.conversation_id);
  writer.key("role").string(name_of(message.role)).key("content").string(message.content);
  append_parts(writer, message.content);
  writer.key("repository_id").string_or_null(message.repository_id);
  append_skill_ids(writer, message.skill_ids);
  append_env(writer, message);
  writer.key("status").string(name_of(message.status)).key("usage");
  if (message.usage) {
    writer.begin_object().key("input_tokens").integer(message.usage->input_tokens);
    writer.key("output_tokens").integer(message.usage->output_tokens).end_object();
  } else {
    writer.null();
  }
  append_time(writer, "created_at", message.created_at);
  writer.end_object();
}

void append_json(std::string& out, const Run& run) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("run");
  append_id(writer, "id", run.id);
  append_id(writer, "tenant_id", run.tenant_id);
  append_id(writer, "conversation_id", run.conversation_id);
  append_id(writer, "user_message_id", run.user_message_id);
  append_id(writer, "message_id", run.message_id);
  append_id(writer, "agent_id", run.agent_id);
  writer.key("state").string(name_of(run.state));
  append_time(writer, "created_at", run.created_at);
  append_time(writer, "ended_at", run.ended_at);
  writer.end_object();
}

void append_json(std::string& out, const Repository& repository) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("repository");
  append_id(writer, "id", repository.id);
  append_id(writer, "tenant_id", repository.tenant_id);
  writer.key("name").string(repository.name).key("url").string(repository.url);
  append_text_or_null(writer, "ref", repository.ref);
  writer.key("depth").integer(repository.depth).key("credential").string_or_null(repository.credential_alias);
  append_time(writer, "created_at", repository.created_at);
  append_time(writer, "updated_at", repository.updated_at);
  writer.end_object();
}

void append_json(std::string& out, const Skill& skill) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("skill");
  append_id(writer, "id", skill.id);
  append_id(writer, "tenant_id", skill.tenant_id);
  writer.key("name").string(skill.name).key("description").string(skill.description);
  writer.key("sha256").string(skill.sha256).key("size").integer(skill.size_bytes);
  writer.key("file_count").integer(skill.file_count);
  append_time(writer, "created_at", skill.created_at);
  append_time(writer, "updated_at", skill.updated_at);
  writer.end_object();
}

void append_json(std::string& out, const Environment& environment) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("environment");
  append_id(writer, "id", environment.id);
  append_id(writer, "tenant_id", environment.tenant_id);
  writer.key("name").string(environment.name).key("variables");
  append_metadata(writer, environment.variables);
  append_text_or_null(writer, "script", environment.script);
  append_time(writer, "created_at", environment.created_at);
  append_time(writer, "updated_at", environment.updated_at);
  writer.end_object();
}

void append_json(std::string& out, const RunFile& file) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("file");
  append_id(writer, "id", file.id);
  append_id_or_null(writer, "run_id", file.run_id);
  append_id_or_null(writer, "execution_id", file.execution_id);
  writer.key("name").string(file.name).key("size").integer(file.size_bytes).key("sha256").string(file.sha256);
  append_time(writer, "created_at", file.created_at);
  writer.end_object();
}

void append_json(std::string& out, const BagFile& file) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("file");
  append_id(writer, "id", file.id);
  append_id_or_null(writer, "chat_id", file.chat_id);
  writer.key("name").string(file.name).key("type").string(file.type).key("size_bytes").integer(file.size_bytes);
  writer.key("sha256").string(file.sha256).key("source").string(name_of(file.source));
  append_time(writer, "created_at", file.created_at);
  writer.end_object();
}

void append_chat_file(json::Writer& writer, const BagFile& file) {
  writer.begin_object();
  append_id(writer, "id", file.id);
  writer.key("object").string("file");
  append_id_or_null(writer, "chatId", file.chat_id);
  writer.key("name").string(file.name).key("type").string(file.type).key("size").integer(file.size_bytes);
  writer.key("sha256").string(file.sha256).key("source").string(name_of(file.source));
  writer.key("createdAt").integer(file.created_at.ms);
  writer.key("url").string("/api/assistant/files/" + file.id.text()).end_object();
}

Result<Message> message_from_json(std::string_view text) {
  const auto corrupt = [](std::string_view what) {
    return Error{ErrorKind::corrupt, "stored message: " + std::string(what)};
  };
  auto document = json::Document::parse(text);
  if (!document) return corrupt(document.error().what);
  const auto root = document.value().root();

  const auto id = MessageId::parse(optional_text(root, "id").value_or(""));
  const auto conversation = ConversationId::parse(optional_text(root, "conversation_id").value_or(""));
  const auto role = role_named(optional_text(root, "role").value_or(""));
  const auto status = message_status_named(optional_text(root, "status").value_or(""));
  const auto created_at = from_rfc3339(optional_text(root, "created_at").value_or(""));
  auto content = optional_text(root, "content");
  if (!id || !conversation || !role || !status || !created_at || !content) return corrupt("a field is missing");

  Message message{.id = *id, .conversation_id = *conversation, .role = *role, .content = std::move(*content)};
  message.status = *status;
  message.created_at = *created_at;
  message.repository_id = optional_text(root, "repository_id");
  message.usage = usage_of(root);
  if (const auto ids = root.find("skill_ids"); ids && ids->kind() == json::Kind::array) {
    message.skill_ids.emplace();
    ids->each_element([&](json::Value item) { message.skill_ids->emplace_back(item.string().value_or("")); });
  }
  if (const auto env = root.find("env"); env && env->kind() == json::Kind::object) {
    message.env = metadata_from_json(*env);
  } else {
    message.env_name = optional_text(root, "env");
  }
  return message;
}

}  // namespace sluice::model
