#include "store/patch.h"

namespace sluice::store {

namespace {

template <typename T>
void set(const std::optional<T>& from, T& to) {
  if (from) to = *from;
}

}  // namespace

void apply(const TenantPatch& patch, Timestamp at, model::Tenant& tenant) {
  set(patch.name, tenant.name);
  set(patch.status, tenant.status);
  set(patch.filler_enabled, tenant.filler_enabled);
  set(patch.limits, tenant.limits);
  set(patch.require_bound_decisions, tenant.require_bound_decisions);
  set(patch.webhook_url, tenant.webhook_url);
  set(patch.agui_unsigned_approvals, tenant.agui_unsigned_approvals);
  set(patch.metadata, tenant.metadata);
  tenant.updated_at = at;
}

void apply(const AgentPatch& patch, Timestamp at, model::Agent& agent) {
  set(patch.name, agent.name);
  set(patch.system_prompt, agent.system_prompt);
  set(patch.model, agent.model);
  set(patch.limits, agent.limits);
  set(patch.skill_ids, agent.skill_ids);
  set(patch.environment_id, agent.environment_id);
  set(patch.policy, agent.policy);
  set(patch.kit, agent.kit);
  if (patch.is_default.value_or(false)) agent.is_default = true;
  agent.updated_at = at;
}

void apply(const ConversationPatch& patch, Timestamp at, model::Conversation& conversation) {
  set(patch.title, conversation.title);
  set(patch.user_id, conversation.user_id);
  set(patch.filler_enabled, conversation.filler_enabled);
  set(patch.repository_id, conversation.repository_id);
  if (patch.runtime) {
    auto agent_type = std::move(conversation.runtime.agent_type);
    conversation.runtime = *patch.runtime;
    conversation.runtime.agent_type = std::move(agent_type);
  }
  set(patch.metadata, conversation.metadata);
  set(patch.status, conversation.status);
  set(patch.agent_id, conversation.agent_id);
  conversation.updated_at = at;
}

void apply(const RepositoryPatch& patch, Timestamp at, model::Repository& repository) {
  set(patch.name, repository.name);
  set(patch.url, repository.url);
  set(patch.ref, repository.ref);
  set(patch.depth, repository.depth);
  set(patch.credential_alias, repository.credential_alias);
  repository.updated_at = at;
}

void apply(const EnvironmentPatch& patch, Timestamp at, model::Environment& environment) {
  set(patch.name, environment.name);
  set(patch.variables, environment.variables);
  set(patch.script, environment.script);
  environment.updated_at = at;
}

model::BagFile bag_file_of(const model::RunFile& file, const model::Run& run, const model::Conversation& chat) {
  model::BagFile kept{.id = file.id,
                      .tenant_id = file.tenant_id,
                      .chat_id = chat.id,
                      .run_id = run.id,
                      .name = file.name,
                      .type = std::string(model::media_type_of(file.name)),
                      .size_bytes = file.size_bytes,
                      .sha256 = file.sha256,
                      .source = model::FileSource::sandbox,
                      .created_at = file.created_at};
  if (chat.status == model::ConversationStatus::archived) kept.deleted_at = file.created_at;
  return kept;
}

}  // namespace sluice::store
