#include "store/sql_rows.h"

namespace sluice::store {

int64_t read_row(Query& query, model::Tenant& tenant) {
  int64_t number = 0;
  query.read(number, tenant.id, tenant.name, tenant.status, tenant.filler_enabled, tenant.metadata, tenant.created_at,
             tenant.updated_at, tenant.limits.weight, tenant.limits.max_running, tenant.limits.max_held,
             tenant.limits.max_concurrent_sticky, tenant.limits.max_sticky_ttl_seconds, tenant.require_bound_decisions,
             tenant.webhook_url, tenant.agui_unsigned_approvals);
  return number;
}

int64_t read_row(Query& query, model::ServiceKey& key) {
  int64_t number = 0;
  query.read(number, key.id, key.tenant_id, key.name, key.secret_sha256, key.hint, key.created_at, key.revoked_at);
  return number;
}

int64_t read_row(Query& query, model::ApproverKey& key) {
  int64_t number = 0;
  query.read(number, key.id, key.tenant_id, key.name, key.algorithm, key.material, key.created_at, key.revoked_at);
  return number;
}

int64_t read_row(Query& query, model::Agent& agent) {
  int64_t number = 0;
  query.read(number, agent.id, agent.tenant_id, agent.name, agent.system_prompt, agent.model.provider, agent.model.name,
             agent.model.base_url, agent.limits.max_output_tokens, agent.limits.max_runtime_seconds,
             agent.limits.max_history_messages, agent.is_default, agent.created_at, agent.updated_at, agent.skill_ids,
             agent.environment_id, agent.policy, agent.model.key_alias, agent.kit, agent.model.endpoint);
  return number;
}

int64_t read_row(Query& query, model::Conversation& conversation) {
  int64_t number = 0;
  query.read(number, conversation.id, conversation.tenant_id, conversation.agent_id, conversation.user_id,
             conversation.title, conversation.metadata, conversation.filler_enabled, conversation.repository_id,
             conversation.status, conversation.last_message_at, conversation.created_at, conversation.updated_at,
             conversation.runtime.agent_type, conversation.runtime.mode, conversation.runtime.sticky_ttl_seconds,
             conversation.kind);
  return number;
}

int64_t read_row(Query& query, model::Run& run) {
  int64_t number = 0;
  query.read(number, run.id, run.tenant_id, run.conversation_id, run.user_message_id, run.message_id, run.agent_id,
             run.state, run.epoch, run.head, run.created_at, run.ended_at);
  if (query.dialect() == Connection::Dialect::postgres) {
    query.read(run.node);
  } else if (constexpr int node_column = 15; query.column_count() > node_column) {
    // A SQLite database has it only in a simulation of several servers, and then last.
    run.node = {query.ulid(node_column)};
  }
  return number;
}

int64_t read_row(Query& query, model::Repository& repository) {
  int64_t number = 0;
  query.read(number, repository.id, repository.tenant_id, repository.name, repository.url, repository.ref,
             repository.depth, repository.credential_alias, repository.created_at, repository.updated_at);
  return number;
}

int64_t read_row(Query& query, model::Skill& skill) {
  int64_t number = 0;
  query.read(number, skill.id, skill.tenant_id, skill.name, skill.description, skill.sha256, skill.size_bytes,
             skill.file_count, skill.created_at, skill.updated_at);
  return number;
}

int64_t read_row(Query& query, model::Environment& environment) {
  int64_t number = 0;
  query.read(number, environment.id, environment.tenant_id, environment.name, environment.variables, environment.script,
             environment.created_at, environment.updated_at);
  return number;
}

int64_t read_row(Query& query, model::Execution& execution) {
  int64_t number = 0;
  query.read(number, execution.id, execution.tenant_id, execution.run_id, execution.env_json, execution.config_json,
             execution.skill_ids, execution.created_at, execution.expires_at);
  return number;
}

int64_t read_row(Query& query, model::RunFile& file) {
  int64_t number = 0;
  query.read(number, file.id, file.tenant_id, file.run_id, file.execution_id, file.name, file.size_bytes, file.sha256,
             file.created_at);
  return number;
}

int64_t read_row(Query& query, model::BagFile& file) {
  int64_t number = 0;
  query.read(number, file.id, file.tenant_id, file.chat_id, file.run_id, file.name, file.type, file.size_bytes,
             file.sha256, file.source, file.created_at, file.deleted_at);
  return number;
}

int64_t read_row(Query& query, model::Approval& approval) {
  int64_t number = 0;
  query.read(number, approval.id, approval.tenant_id, approval.conversation_id, approval.message_id, approval.run_id,
             approval.status, approval.reason, approval.requested_items, approval.note, approval.resolved_by,
             approval.resolved_at, approval.expires_at, approval.created_at, approval.updated_at);
  return number;
}

int64_t read_row(Query& query, model::SealedSecret& secret) {
  int64_t number = 0;
  query.read(number, secret.tenant_id, secret.scope, secret.owner, secret.alias, secret.hosts, secret.places,
             secret.sealed, secret.created_at, secret.updated_at);
  return number;
}

int64_t read_row(Query& query, model::AuditEntry& entry) {
  query.read(entry.number, entry.tenant_id, entry.action, entry.subject, entry.actor, entry.detail, entry.at,
             entry.previous_sha256, entry.sha256);
  return entry.number;
}

int64_t read_row(Query& query, AguiRun& run) {
  int64_t number = 0;
  query.read(number, run.tenant_id, run.thread_id, run.run_id, run.conversation_id, run.run, run.segment);
  return number;
}

bool has_tenant(Connection& db, model::TenantId id) {
  return find_number(db, "SELECT number FROM tenants WHERE id = ?", id).has_value();
}

std::string metadata_text(const model::Metadata& metadata) {
  std::string text;
  json::Writer writer(text);
  model::append_metadata(writer, metadata);
  return text;
}

std::string policy_text(const model::Policy& policy) {
  std::string text;
  json::Writer writer(text);
  model::append_policy(writer, policy);
  return text;
}

std::string kit_text(const model::AgentKit& kit) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object();
  model::append_kit_members(writer, kit);
  writer.end_object();
  return text;
}

std::string items_text(const std::vector<model::RequestedItem>& items) {
  std::string text;
  json::Writer writer(text);
  model::append_items(writer, items);
  return text;
}

std::string list_text(const std::vector<std::string>& texts) {
  std::string text;
  json::Writer writer(text);
  writer.begin_array();
  for (const auto& item : texts) writer.string(item);
  writer.end_array();
  return text;
}

}  // namespace sluice::store
