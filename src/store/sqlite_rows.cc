#include "store/sqlite_rows.h"

namespace sluice::store {

int64_t read_row(Query& query, model::Tenant& tenant) {
  int64_t number = 0;
  query.read(number, tenant.id, tenant.name, tenant.status, tenant.filler_enabled, tenant.metadata, tenant.created_at,
             tenant.updated_at);
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
             agent.environment_id);
  return number;
}

int64_t read_row(Query& query, model::Conversation& conversation) {
  int64_t number = 0;
  query.read(number, conversation.id, conversation.tenant_id, conversation.agent_id, conversation.user_id,
             conversation.title, conversation.metadata, conversation.filler_enabled, conversation.repository_id,
             conversation.status, conversation.last_message_at, conversation.created_at, conversation.updated_at);
  return number;
}

int64_t read_row(Query& query, model::Run& run) {
  int64_t number = 0;
  query.read(number, run.id, run.tenant_id, run.conversation_id, run.user_message_id, run.message_id, run.agent_id,
             run.state, run.epoch, run.head, run.created_at, run.ended_at);
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

bool has_tenant(Connection& db, model::TenantId id) {
  return find_number(db, "SELECT number FROM tenants WHERE id = ?", id).has_value();
}

std::string metadata_text(const model::Metadata& metadata) {
  std::string text;
  json::Writer writer(text);
  model::append_metadata(writer, metadata);
  return text;
}

}  // namespace sluice::store
