#include "store/memory_store.h"

#include "store/memory_answer.h"
#include "store/patch.h"

namespace sluice::store {

void MemoryDisk::hold_answers(bool held) {
  held_ = held;
  if (held_) return;
  for (auto& [loop, answer] : std::exchange(held_answers_, {})) loop->post(std::move(answer));
}

// ── tenants ──

void MemoryStore::create_tenant(model::Tenant tenant, model::Agent default_agent, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.agents_.find(default_agent.id) != nullptr || !disk_.tenants_.add(tenant.id, tenant)) {
      return Error{ErrorKind::conflict, "there is such a tenant already"};
    }
    default_agent.tenant_id = tenant.id;
    default_agent.is_default = true;
    disk_.agents_.add(default_agent.id, default_agent);
    return Unit{};
  });
}

void MemoryStore::update_tenant(model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done) {
  write(std::move(done), [&]() -> Result<model::Tenant> {
    auto* tenant = disk_.tenants_.find(id);
    if (tenant == nullptr) return no_such("tenant");
    apply(patch, at, *tenant);
    if (patch.webhook_url && !tenant->webhook_url) drop_notices(id);
    return *tenant;
  });
}

void MemoryStore::tenant(model::TenantId id, Done<model::Tenant> done) {
  const auto* tenant = disk_.tenants_.find(id);
  answer<model::Tenant>(tenant == nullptr ? Result<model::Tenant>(no_such("tenant")) : *tenant, std::move(done));
}

void MemoryStore::tenants(PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done) {
  std::vector<model::Tenant> rows;
  for (auto& [number, row] : disk_.tenants_) rows.push_back(row);
  answer(cut_page(rows, query, id_of, all), std::move(done));
}

// ── keys ──

void MemoryStore::create_service_key(model::ServiceKey key, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(key.tenant_id) == nullptr) return no_such("tenant");
    for (auto& [number, row] : disk_.service_keys_) {
      if (row.secret_sha256 == key.secret_sha256) return Error{ErrorKind::conflict, "this secret is in use"};
    }
    if (!disk_.service_keys_.add(key.id, key)) return Error{ErrorKind::conflict, "there is such a key already"};
    return Unit{};
  });
}

void MemoryStore::revoke_service_key(model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                                     Done<model::ServiceKey> done) {
  write(std::move(done), [&]() -> Result<model::ServiceKey> {
    auto* key = disk_.service_keys_.find(id);
    if (key == nullptr || key->tenant_id != tenant) return no_such("service key");
    if (!key->revoked_at) key->revoked_at = at;
    return *key;
  });
}

void MemoryStore::service_keys(model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                               Done<Page<model::ServiceKey>> done) {
  if (disk_.tenants_.find(tenant) == nullptr)
    return answer<Page<model::ServiceKey>>(no_such("tenant"), std::move(done));
  answer(cut_page(rows_of<model::ServiceKey>(disk_.service_keys_, tenant), query, id_of, all), std::move(done));
}

void MemoryStore::find_service_key(std::string secret_sha256, Done<KeyHolder> done) {
  for (auto& [number, key] : disk_.service_keys_) {
    if (key.secret_sha256 != secret_sha256) continue;
    return answer<KeyHolder>(KeyHolder{key, *disk_.tenants_.find(key.tenant_id)}, std::move(done));
  }
  answer<KeyHolder>(no_such("service key"), std::move(done));
}

void MemoryStore::create_approver_key(model::ApproverKey key, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(key.tenant_id) == nullptr) return no_such("tenant");
    if (!disk_.approver_keys_.add(key.id, key)) return Error{ErrorKind::conflict, "there is such a key already"};
    return Unit{};
  });
}

void MemoryStore::revoke_approver_key(model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                                      Done<model::ApproverKey> done) {
  write(std::move(done), [&]() -> Result<model::ApproverKey> {
    auto* key = disk_.approver_keys_.find(id);
    if (key == nullptr || key->tenant_id != tenant) return no_such("approver key");
    if (!key->revoked_at) key->revoked_at = at;
    return *key;
  });
}

void MemoryStore::approver_keys(model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                                Done<Page<model::ApproverKey>> done) {
  if (disk_.tenants_.find(tenant) == nullptr) {
    return answer<Page<model::ApproverKey>>(no_such("tenant"), std::move(done));
  }
  answer(cut_page(rows_of<model::ApproverKey>(disk_.approver_keys_, tenant), query, id_of, all), std::move(done));
}

// ── agents ──

void MemoryStore::step_down(model::TenantId tenant, model::AgentId chosen, Timestamp at) {
  for (auto& [number, agent] : disk_.agents_) {
    if (agent.tenant_id != tenant || agent.id == chosen || !agent.is_default) continue;
    agent.is_default = false;
    agent.updated_at = at;
  }
}

bool MemoryStore::in_use(model::AgentId agent) {
  for (auto& [number, row] : disk_.conversations_) {
    if (row.conversation.agent_id == agent && row.conversation.status == model::ConversationStatus::active) return true;
  }
  for (auto& [number, row] : disk_.runs_) {
    if (row.run.agent_id == agent && !model::is_over(row.run.state)) return true;
  }
  return false;
}

void MemoryStore::create_agent(model::Agent agent, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(agent.tenant_id) == nullptr) return no_such("tenant");
    for (const auto& other : rows_of<model::Agent>(disk_.agents_, agent.tenant_id)) {
      if (other.name == agent.name) return Error{ErrorKind::conflict, "an agent has this name"};
    }
    if (!disk_.agents_.add(agent.id, agent)) return Error{ErrorKind::conflict, "there is such an agent already"};
    if (agent.is_default) step_down(agent.tenant_id, agent.id, agent.created_at);
    return Unit{};
  });
}

void MemoryStore::update_agent(model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                               Done<model::Agent> done) {
  write(std::move(done), [&]() -> Result<model::Agent> {
    auto* agent = disk_.agents_.find(id);
    if (agent == nullptr || agent->tenant_id != tenant) return no_such("agent");
    for (const auto& other : rows_of<model::Agent>(disk_.agents_, tenant)) {
      if (patch.name && other.name == *patch.name && other.id != id) {
        return Error{ErrorKind::conflict, "an agent has this name"};
      }
    }
    if (patch.is_default.value_or(false)) step_down(tenant, id, at);
    apply(patch, at, *agent);
    return *agent;
  });
}

void MemoryStore::delete_agent(model::TenantId tenant, model::AgentId id, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    const auto* agent = disk_.agents_.find(id);
    if (agent == nullptr || agent->tenant_id != tenant) return no_such("agent");
    if (agent->is_default) return Error{ErrorKind::conflict, "this is the default agent"};
    if (in_use(id)) return Error{ErrorKind::conflict, "a conversation uses this agent"};
    disk_.agents_.remove(id);
    drop_secrets(model::SecretScope::agent, id.ulid);
    return Unit{};
  });
}

void MemoryStore::agent(model::TenantId tenant, model::AgentId id, Done<model::Agent> done) {
  const auto* agent = disk_.agents_.find(id);
  if (agent == nullptr || agent->tenant_id != tenant) return answer<model::Agent>(no_such("agent"), std::move(done));
  answer<model::Agent>(*agent, std::move(done));
}

void MemoryStore::default_agent(model::TenantId tenant, Done<model::Agent> done) {
  const auto id = agent_for(tenant, {});
  answer<model::Agent>(id ? Result<model::Agent>(*disk_.agents_.find(id.value())) : id.error(), std::move(done));
}

void MemoryStore::agents(model::TenantId tenant, PageQuery<model::AgentId> query, Done<Page<model::Agent>> done) {
  if (disk_.tenants_.find(tenant) == nullptr) return answer<Page<model::Agent>>(no_such("tenant"), std::move(done));
  answer(cut_page(rows_of<model::Agent>(disk_.agents_, tenant), query, id_of, all), std::move(done));
}

Result<model::AgentId> MemoryStore::agent_for(model::TenantId tenant, model::AgentId wanted) {
  for (auto& [number, agent] : disk_.agents_) {
    if (agent.tenant_id != tenant) continue;
    if (wanted == model::AgentId{} ? agent.is_default : agent.id == wanted) return agent.id;
  }
  return no_such("agent");
}

// ── the store itself ──

void MemoryStore::reopen(Done<Unit> done) {
  if (desk_.reaches_disk()) desk_.mend();
  answer<Unit>(Unit{}, std::move(done));
}

void MemoryStore::tidy_up(Timestamp now, Done<int> done) {
  write(std::move(done), [&]() -> Result<int> {
    std::erase_if(disk_.kept_keys_,
                  [&](const auto& kept) { return kept.second.at.ms <= now.ms - limits::idempotency_ms; });
    drop_executions({now.ms - limits::idempotency_ms});
    int sealed = 0;
    for (auto& [number, row] : disk_.runs_) {
      if (row.sealed || !model::is_over(row.run.state)) continue;
      row.sealed = true;
      ++sealed;
    }
    return sealed;
  });
}

}  // namespace sluice::store
