// Approvals, policies, secrets' names, audit entries and placements as JSON.
#include "base/bytes.h"
#include "model/json.h"

namespace sluice::model {
namespace {

void append_texts(json::Writer& writer, std::string_view key, const auto& texts) {
  writer.key(key).begin_array();
  for (const auto& text : texts) writer.string(text);
  writer.end_array();
}

void append_time_or_null(json::Writer& writer, std::string_view key, const std::optional<Timestamp>& at) {
  writer.key(key);
  at ? writer.string(to_rfc3339(*at)) : writer.null();
}

std::vector<std::string> texts_of(json::Value object, std::string_view name) {
  std::vector<std::string> texts;
  if (const auto list = object.find(name)) {
    list->each_element([&](json::Value item) { texts.emplace_back(item.string().value_or("")); });
  }
  return texts;
}

}  // namespace

void append_items(json::Writer& writer, const std::vector<RequestedItem>& items) {
  writer.begin_array();
  for (const auto& item : items) {
    writer.begin_object().key("kind").string(name_of(item.kind)).key("description").string(item.description);
    if (item.alias) writer.key("alias").string(*item.alias);
    if (!item.hosts.empty()) append_texts(writer, "hosts", item.hosts);
    if (item.places != 0) append_texts(writer, "places", names_of_places(item.places));
    if (item.call) {
      writer.key("call").begin_object().key("id").string(item.call->id).key("name").string(item.call->name);
      writer.key("arguments").string(item.call->arguments).end_object();
    }
    writer.end_object();
  }
  writer.end_array();
}

std::vector<RequestedItem> items_from_json(json::Value value) {
  std::vector<RequestedItem> items;
  value.each_element([&](json::Value item) {
    RequestedItem made;
    if (text_of(item, "kind") == name_of(ItemKind::secret)) made.kind = ItemKind::secret;
    if (text_of(item, "kind") == name_of(ItemKind::client_tool)) made.kind = ItemKind::client_tool;
    made.description = text_of(item, "description");
    if (item.find("alias")) made.alias = text_of(item, "alias");
    made.hosts = texts_of(item, "hosts");
    for (const auto& name : texts_of(item, "places")) {
      if (const auto place = secret_place_named(name)) made.places |= *place;
    }
    if (const auto call = item.find("call")) {
      made.call = ClientCall{text_of(*call, "id"), text_of(*call, "name"), text_of(*call, "arguments")};
    }
    items.push_back(std::move(made));
  });
  return items;
}

void append_json(std::string& out, const Approval& approval) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("approval").key("id").string(approval.id.text());
  writer.key("tenant_id").string(approval.tenant_id.text());
  writer.key("conversation_id").string(approval.conversation_id.text());
  writer.key("message_id").string(approval.message_id.text());
  writer.key("status").string(name_of(approval.status)).key("reason").string(approval.reason);
  writer.key("requested_items");
  append_items(writer, approval.requested_items);
  writer.key("expires_at").string(to_rfc3339(approval.expires_at));
  writer.key("resolved_by").string_or_null(approval.resolved_by);
  append_time_or_null(writer, "resolved_at", approval.resolved_at);
  if (approval.note) writer.key("note").string(*approval.note);
  writer.key("created_at").string(to_rfc3339(approval.created_at));
  writer.key("updated_at").string(to_rfc3339(approval.updated_at)).end_object();
}

void append_policy(json::Writer& writer, const Policy& policy) {
  writer.begin_array();
  for (const auto& rule : policy) {
    writer.begin_object().key("effect").string(name_of(rule.effect));
    writer.key(name_of(rule.subject)).string(rule.pattern);
    if (!rule.reason.empty()) writer.key("reason").string(rule.reason);
    if (!rule.secrets.empty()) append_texts(writer, "secrets", rule.secrets);
    if (!rule.ports.empty()) {
      writer.key("ports").begin_array();
      for (const auto port : rule.ports) writer.integer(port);
      writer.end_array();
    }
    writer.end_object();
  }
  writer.end_array();
}

Policy policy_from_json(json::Value value) {
  Policy policy;
  value.each_element([&](json::Value item) {
    PolicyRule rule;
    rule.effect = effect_named(text_of(item, "effect")).value_or(Effect::deny);
    item.each_member([&](std::string_view name, json::Value member) {
      const auto subject = subject_named(name);
      if (!subject) return;
      rule.subject = *subject;
      rule.pattern = member.string().value_or("");
    });
    rule.reason = text_of(item, "reason");
    rule.secrets = texts_of(item, "secrets");
    if (const auto ports = item.find("ports")) {
      ports->each_element([&](json::Value port) {
        if (const auto number = port.integer()) rule.ports.push_back(static_cast<uint16_t>(*number));
      });
    }
    policy.push_back(std::move(rule));
  });
  return policy;
}

void append_json(std::string& out, const SealedSecret& secret) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("secret").key("alias").string(secret.alias);
  writer.key("scope").string(name_of(secret.scope));
  append_texts(writer, "hosts", secret.hosts);
  append_texts(writer, "places", names_of_places(secret.places));
  writer.key("created_at").string(to_rfc3339(secret.created_at));
  writer.key("updated_at").string(to_rfc3339(secret.updated_at)).end_object();
}

void append_json(std::string& out, const AuditEntry& entry) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("audit_entry").key("number").integer(entry.number);
  writer.key("at").string(to_rfc3339(entry.at)).key("tenant_id");
  entry.tenant_id ? writer.string(entry.tenant_id->text()) : writer.null();
  writer.key("action").string(entry.action).key("subject").string(entry.subject);
  writer.key("actor").string(entry.actor).key("detail").raw(entry.detail.empty() ? "{}" : entry.detail);
  writer.key("previous_sha256").string(to_hex(entry.previous_sha256));
  writer.key("sha256").string(to_hex(entry.sha256)).end_object();
}

void append_runtime(json::Writer& writer, const Runtime& runtime, const SandboxNow& now) {
  writer.begin_object().key("agent_type").string(runtime.agent_type).key("mode").string(name_of(runtime.mode));
  writer.key("sticky_ttl_seconds");
  runtime.mode == PlacementMode::sticky ? writer.integer(runtime.sticky_ttl_seconds) : writer.null();
  writer.key("sandbox_state").string(name_of(now.state));
  append_time_or_null(writer, "expires_at", now.expires_at);
  writer.end_object();
}

}  // namespace sluice::model
