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

void settle(const model::Agent& agent, model::Conversation& conversation) {
  conversation.agent_id = agent.id;
  if (conversation.runtime.agent_type.empty()) conversation.runtime.agent_type = agent.kit.agent_type;
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

void apply(const Append& append, model::Run& run) {
  run.head.value += append.events.size();
  if (!append.state) return;
  run.state = *append.state;
  if (!model::is_over(run.state)) return;
  SLUICE_CHECK(!append.events.empty());  // an end that no reader is told of
  run.ended_at = append.events.back().at;
}

std::optional<Error> refusal(const Append& append, const model::Run& run) {
  if (append.epoch != run.epoch) {
    return Error{ErrorKind::conflict, "run " + run.id.text() + " has another writer: its epoch is " +
                                          std::to_string(run.epoch.value) + ", not " +
                                          std::to_string(append.epoch.value)};
  }
  if (model::is_over(run.state)) return Error{ErrorKind::conflict, "run " + run.id.text() + " is over"};
  if (append.head != run.head) {
    return Error{ErrorKind::conflict, "the journal of run " + run.id.text() + " is at " +
                                          std::to_string(run.head.value) + ", not at " +
                                          std::to_string(append.head.value)};
  }
  return std::nullopt;
}

std::optional<AguiRun> names_of(const NewRun& made) {
  auto names = made.agui;
  if (!names) return names;
  names->tenant_id = made.run.tenant_id;
  names->conversation_id = made.run.conversation_id;
  names->run = made.run.id;
  return names;
}

std::optional<Error> refusal(const AguiRun& named, const KnownNames& known) {
  const auto refuse = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (known.conversation && *known.conversation != named.conversation_id) {
    return refuse("thread " + named.thread_id + " belongs to another conversation");
  }
  if (known.thread && *known.thread != named.thread_id) {
    return refuse("conversation " + named.conversation_id.text() + " belongs to another thread");
  }
  if (known.has_run) return refuse("thread " + named.thread_id + " has a run " + named.run_id + " already");
  return std::nullopt;
}

void apply(const model::Approval& decided, model::Approval& kept) {
  kept.status = decided.status;
  kept.note = decided.note;
  kept.resolved_by = decided.resolved_by;
  kept.resolved_at = decided.resolved_at;
  kept.updated_at = decided.updated_at;
}

std::optional<Error> refusal(const model::Approval& approval, const std::optional<model::Approval>& kept,
                             const std::optional<model::Approval>& open) {
  const auto refuse = [](std::string what) { return Error{ErrorKind::conflict, std::move(what)}; };
  if (!kept && approval.status != model::ApprovalStatus::pending) {
    return refuse("approval " + approval.id.text() + " was never asked for");
  }
  if (!kept && open) return refuse("run " + approval.run_id.text() + " waits for " + open->id.text() + " already");
  if (kept && kept->status != model::ApprovalStatus::pending) {
    return refuse("approval " + approval.id.text() + " is " + std::string(model::name_of(kept->status)) + " already");
  }
  return std::nullopt;
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

model::AuditEntry next_link(model::AuditEntry entry, const ChainEnd& end) {
  entry.number = end.number + 1;
  entry.previous_sha256 = end.sha256;
  entry.sha256 = model::digest_of(entry);
  return entry;
}

}  // namespace sluice::store
