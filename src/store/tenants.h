// Tenants, their keys and their agents. Part of the store's public header: errors, threads and transactions are those
// of journal/journal.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// With its default agent.
void create_tenant(Database& database, model::Tenant tenant, model::Agent default_agent, Done<Unit> done);
void update_tenant(Database& database, model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done);
void tenant(Database& database, model::TenantId id, Done<model::Tenant> done);
void tenants(Database& database, PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done);  // oldest first

void create_service_key(Database& database, model::ServiceKey key, Done<Unit> done);
void revoke_service_key(Database& database, model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                        Done<model::ServiceKey> done);  // a second time: unchanged
void service_keys(Database& database, model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                  Done<Page<model::ServiceKey>> done);
// Revoked keys and suspended tenants are found too: the caller decides what that means.
void find_service_key(Database& database, std::string secret_sha256, Done<KeyHolder> done);

void create_approver_key(Database& database, model::ApproverKey key, Done<Unit> done);
void revoke_approver_key(Database& database, model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                         Done<model::ApproverKey> done);
void approver_keys(Database& database, model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                   Done<Page<model::ApproverKey>> done);

// Names are unique within a tenant: `conflict`.
void create_agent(Database& database, model::Agent agent, Done<Unit> done);
void update_agent(Database& database, model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                  Done<model::Agent> done);
// `conflict` for the default agent and for one that an active conversation uses.
void delete_agent(Database& database, model::TenantId tenant, model::AgentId id, Done<Unit> done);
void agent(Database& database, model::TenantId tenant, model::AgentId id, Done<model::Agent> done);
void agent_named(Database& database, model::TenantId tenant, std::string name, Done<model::Agent> done);
void default_agent(Database& database, model::TenantId tenant, Done<model::Agent> done);
void agents(Database& database, model::TenantId tenant, PageQuery<model::AgentId> query, Done<Page<model::Agent>> done);

}  // namespace sluice::store
