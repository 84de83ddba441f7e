#include "store/tenants.h"

#include "store/database.h"
#include "store/object_counts.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

void insert_agent(Connection& db, const model::Agent& agent) {
  execute(db, "INSERT INTO agents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", agent.id,
          agent.tenant_id, agent.name, agent.system_prompt, agent.model.provider, agent.model.name,
          agent.model.base_url, agent.limits.max_output_tokens, agent.limits.max_runtime_seconds,
          agent.limits.max_history_messages, agent.is_default, agent.created_at, agent.updated_at, agent.skill_ids,
          agent.environment_id, policy_text(agent.policy), agent.model.key_alias, kit_text(agent.kit),
          agent.model.endpoint);
}

void step_down(Connection& db, model::TenantId tenant, Timestamp at) {
  execute(db, "UPDATE agents SET is_default = 0, updated_at = ? WHERE tenant_id = ? AND is_default <> 0", at, tenant);
}

bool name_is_taken(Connection& db, model::TenantId tenant, std::string_view name, model::AgentId by_other_than) {
  return find_number(db, "SELECT number FROM agents WHERE tenant_id = ? AND name = ? AND id <> ?", tenant, name,
                     by_other_than)
      .has_value();
}

}  // namespace

// ── tenants ──

void create_tenant(Database& database, model::Tenant tenant, model::Agent default_agent, Done<Unit> done) {
  const auto whose = tenant.id;
  database.write(
      whose, std::move(done),
      [tenant = std::move(tenant), default_agent = std::move(default_agent)](Connection& db) -> Result<Unit> {
        if (has_tenant(db, tenant.id)) return Error{ErrorKind::conflict, "there is such a tenant already"};
        execute(db, "INSERT INTO tenants VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", tenant.id,
                tenant.name, tenant.status, tenant.filler_enabled, metadata_text(tenant.metadata), tenant.created_at,
                tenant.updated_at, tenant.limits.weight, tenant.limits.max_running, tenant.limits.max_held,
                tenant.limits.max_concurrent_sticky, tenant.limits.max_sticky_ttl_seconds,
                tenant.require_bound_decisions, tenant.webhook_url, tenant.agui_unsigned_approvals);
        auto agent = default_agent;
        agent.tenant_id = tenant.id;
        agent.is_default = true;
        insert_agent(db, agent);
        return Unit{};
      });
}

void update_tenant(Database& database, model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done) {
  database.write(id, std::move(done), [id, patch = std::move(patch), at](Connection& db) -> Result<model::Tenant> {
    auto found = sql::tenant(db, id);
    if (!found) return found;
    auto& changed = found.value();
    apply(patch, at, changed);
    execute(db,
            "UPDATE tenants SET name = ?, status = ?, filler_enabled = ?, metadata = ?, updated_at = ?, weight = ?, "
            "max_running = ?, max_held = ?, max_concurrent_sticky = ?, max_sticky_ttl_seconds = ?, "
            "require_bound_decisions = ?, webhook_url = ?, agui_unsigned_approvals = ? WHERE id = ?",
            changed.name, changed.status, changed.filler_enabled, metadata_text(changed.metadata), changed.updated_at,
            changed.limits.weight, changed.limits.max_running, changed.limits.max_held,
            changed.limits.max_concurrent_sticky, changed.limits.max_sticky_ttl_seconds,
            changed.require_bound_decisions, changed.webhook_url, changed.agui_unsigned_approvals, id);
    if (patch.webhook_url && !changed.webhook_url) sql::drop_notices(db, id);
    return found;
  });
}

Result<model::Tenant> sql::tenant(Connection& db, model::TenantId id) {
  auto found = find_row<model::Tenant>(db, "SELECT * FROM tenants WHERE id = ?", id);
  if (!found) return no_such("tenant");
  return *std::move(found);
}

void tenant(Database& database, model::TenantId id, Done<model::Tenant> done) {
  database.read(id, std::move(done), [id](Connection& db) { return sql::tenant(db, id); });
}

void tenants(Database& database, PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done) {
  database.read(std::move(done), [query](Connection& db) -> Result<Page<model::Tenant>> {
    std::optional<int64_t> cursor;
    if (const auto& id = cursor_of(query)) {
      cursor = find_number(db, "SELECT number FROM tenants WHERE id = ?", *id);
      if (!cursor) return no_such("object to go on from");
    }
    return page_by_number<model::Tenant>(db, "SELECT * FROM tenants WHERE ?1 <> 0", "number", true, cursor, query.limit,
                                         Walk::of(query, Order::ascending), [](Query& row) {
                                           model::Tenant tenant;
                                           read_row(row, tenant);
                                           return tenant;
                                         });
  });
}

// ── keys ──

void create_service_key(Database& database, model::ServiceKey key, Done<Unit> done) {
  const auto whose = key.tenant_id;
  database.write(whose, std::move(done), [key = std::move(key)](Connection& db) -> Result<Unit> {
    if (!has_tenant(db, key.tenant_id)) return no_such("tenant");
    if (find_number(db, "SELECT number FROM service_keys WHERE secret_sha256 = ?", Blob{key.secret_sha256})) {
      return Error{ErrorKind::conflict, "this secret is in use"};
    }
    execute(db, "INSERT INTO service_keys VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", key.id, key.tenant_id, key.name,
            Blob{key.secret_sha256}, key.hint, key.created_at, key.revoked_at);
    return Unit{};
  });
}

void revoke_service_key(Database& database, model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                        Done<model::ServiceKey> done) {
  database.write(tenant, std::move(done), [tenant, id, at](Connection& db) -> Result<model::ServiceKey> {
    auto key = find_row<model::ServiceKey>(db, "SELECT * FROM service_keys WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!key) return no_such("service key");
    if (!key->revoked_at) {
      key->revoked_at = at;
      execute(db, "UPDATE service_keys SET revoked_at = ? WHERE id = ?", at, id);
    }
    return *std::move(key);
  });
}

void service_keys(Database& database, model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                  Done<Page<model::ServiceKey>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::ServiceKey>> {
    return page_of_tenant<model::ServiceKey>(db, "service_keys", tenant, query);
  });
}

void find_service_key(Database& database, std::string secret_sha256, Done<KeyHolder> done) {
  database.read(std::move(done), [secret_sha256 = std::move(secret_sha256)](Connection& db) -> Result<KeyHolder> {
    Query query(
        db,
        "SELECT service_keys.*, tenants.* FROM service_keys JOIN tenants ON tenants.id = service_keys.tenant_id "
        "WHERE secret_sha256 = ?",
        Blob{secret_sha256});
    if (!query.next()) return no_such("service key");
    KeyHolder holder;
    read_row(query, holder.key);
    read_row(query, holder.tenant);
    return holder;
  });
}

void create_approver_key(Database& database, model::ApproverKey key, Done<Unit> done) {
  const auto whose = key.tenant_id;
  database.write(whose, std::move(done), [key = std::move(key)](Connection& db) -> Result<Unit> {
    if (!has_tenant(db, key.tenant_id)) return no_such("tenant");
    execute(db, "INSERT INTO approver_keys VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", key.id, key.tenant_id, key.name,
            key.algorithm, Blob{key.material}, key.created_at, key.revoked_at);
    return Unit{};
  });
}

void revoke_approver_key(Database& database, model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                         Done<model::ApproverKey> done) {
  database.write(tenant, std::move(done), [tenant, id, at](Connection& db) -> Result<model::ApproverKey> {
    auto key =
        find_row<model::ApproverKey>(db, "SELECT * FROM approver_keys WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!key) return no_such("approver key");
    if (!key->revoked_at) {
      key->revoked_at = at;
      execute(db, "UPDATE approver_keys SET revoked_at = ? WHERE id = ?", at, id);
    }
    return *std::move(key);
  });
}

void approver_keys(Database& database, model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                   Done<Page<model::ApproverKey>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::ApproverKey>> {
    return page_of_tenant<model::ApproverKey>(db, "approver_keys", tenant, query);
  });
}

// ── agents ──

void create_agent(Database& database, model::Agent agent, Done<Unit> done) {
  const auto whose = agent.tenant_id;
  database.write(whose, std::move(done), [agent = std::move(agent)](Connection& db) -> Result<Unit> {
    if (!has_tenant(db, agent.tenant_id)) return no_such("tenant");
    if (name_is_taken(db, agent.tenant_id, agent.name, agent.id)) {
      return Error{ErrorKind::conflict, "an agent has this name"};
    }
    if (auto refused = refusal_of_count(db, "agents", agent.tenant_id, limits::agents_per_tenant_max)) {
      return *std::move(refused);
    }
    if (agent.is_default) step_down(db, agent.tenant_id, agent.created_at);
    insert_agent(db, agent);
    return Unit{};
  });
}

void update_agent(Database& database, model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                  Done<model::Agent> done) {
  database.write(
      tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::Agent> {
        auto found = sql::agent(db, tenant, id);
        if (!found) return found;
        if (patch.name && name_is_taken(db, tenant, *patch.name, id)) {
          return Error{ErrorKind::conflict, "an agent has this name"};
        }
        auto& changed = found.value();
        if (patch.is_default.value_or(false)) step_down(db, tenant, at);
        apply(patch, at, changed);
        execute(
            db,
            "UPDATE agents SET name = ?, system_prompt = ?, model_provider = ?, model_name = ?, model_base_url = ?, "
            "max_output_tokens = ?, max_runtime_seconds = ?, max_history_messages = ?, is_default = ?, updated_at = ?, "
            "skill_ids = ?, environment_id = ?, policy = ?, model_key_alias = ?, kit = ?, model_endpoint = ? WHERE id "
            "= ?",
            changed.name, changed.system_prompt, changed.model.provider, changed.model.name, changed.model.base_url,
            changed.limits.max_output_tokens, changed.limits.max_runtime_seconds, changed.limits.max_history_messages,
            changed.is_default, changed.updated_at, changed.skill_ids, changed.environment_id,
            policy_text(changed.policy), changed.model.key_alias, kit_text(changed.kit), changed.model.endpoint, id);
        return found;
      });
}

void delete_agent(Database& database, model::TenantId tenant, model::AgentId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    const auto found = sql::agent(db, tenant, id);
    if (!found) return found.error();
    if (found.value().is_default) return Error{ErrorKind::conflict, "this is the default agent"};
    if (find_number(db, "SELECT number FROM conversations WHERE agent_id = ? AND status = 'active' LIMIT 1", id) ||
        find_number(db, "SELECT number FROM flights JOIN runs ON runs.number = flights.run WHERE agent_id = ?", id)) {
      return Error{ErrorKind::conflict, "a conversation uses this agent"};
    }
    execute(db, "DELETE FROM agents WHERE id = ?", id);
    sql::drop_secrets(db, model::SecretScope::agent, id.ulid);
    return Unit{};
  });
}

Result<model::Agent> sql::agent(Connection& db, model::TenantId tenant, model::AgentId id) {
  auto found = find_row<model::Agent>(db, "SELECT * FROM agents WHERE id = ? AND tenant_id = ?", id, tenant);
  if (!found) return no_such("agent");
  return *std::move(found);
}

void agent(Database& database, model::TenantId tenant, model::AgentId id, Done<model::Agent> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::agent(db, tenant, id); });
}

void agent_named(Database& database, model::TenantId tenant, std::string name, Done<model::Agent> done) {
  database.read(tenant, std::move(done), [tenant, name = std::move(name)](Connection& db) -> Result<model::Agent> {
    auto found = find_row<model::Agent>(db, "SELECT * FROM agents WHERE tenant_id = ? AND name = ?", tenant, name);
    if (!found) return no_such("agent");
    return *std::move(found);
  });
}

Result<model::Agent> sql::default_agent(Connection& db, model::TenantId tenant) {
  auto found = find_row<model::Agent>(db, "SELECT * FROM agents WHERE tenant_id = ? AND is_default <> 0", tenant);
  if (!found) return no_such("agent");
  return *std::move(found);
}

void default_agent(Database& database, model::TenantId tenant, Done<model::Agent> done) {
  database.read(tenant, std::move(done), [tenant](Connection& db) { return sql::default_agent(db, tenant); });
}

Result<model::Agent> sql::agent_for(Connection& db, model::TenantId tenant, model::AgentId wanted) {
  return wanted == model::AgentId{} ? sql::default_agent(db, tenant) : sql::agent(db, tenant, wanted);
}

void agents(Database& database, model::TenantId tenant, PageQuery<model::AgentId> query,
            Done<Page<model::Agent>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::Agent>> {
    return page_of_tenant<model::Agent>(db, "agents", tenant, query);
  });
}

}  // namespace sluice::store
