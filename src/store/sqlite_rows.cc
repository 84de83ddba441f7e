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
             agent.limits.max_history_messages, agent.is_default, agent.created_at, agent.updated_at);
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

std::string metadata_text(const model::Metadata& metadata) {
  std::string text;
  json::Writer writer(text);
  model::append_metadata(writer, metadata);
  return text;
}

}  // namespace sluice::store
