#include "store/sql_store.h"

#include "store/sql_records.h"
#include "store/sql_runs.h"

namespace sluice::store {

CommittedBatch SqlStore::committed(std::vector<model::RunEvent> events, model::Position first) {
  CommittedBatch batch;
  batch.reserve(events.size());
  for (auto& event : events) batch.push_back(commit(std::move(event), {first.value + batch.size()}));
  return batch;
}

// ── tenants, keys, agents ──

void SqlStore::create_tenant(model::Tenant tenant, model::Agent default_agent, Done<Unit> done) {
  const auto whose = tenant.id;
  write(whose, std::move(done), [tenant = std::move(tenant), agent = std::move(default_agent)](Connection& db) {
    return sql::create_tenant(db, tenant, agent);
  });
}

void SqlStore::update_tenant(model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done) {
  write(id, std::move(done),
        [id, patch = std::move(patch), at](Connection& db) { return sql::update_tenant(db, id, patch, at); });
}

void SqlStore::tenant(model::TenantId id, Done<model::Tenant> done) {
  read(id, std::move(done), [id](Connection& db) { return sql::tenant(db, id); });
}

void SqlStore::tenants(PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done) {
  read(std::move(done), [query](Connection& db) { return sql::tenants(db, query); });
}

void SqlStore::create_service_key(model::ServiceKey key, Done<Unit> done) {
  const auto whose = key.tenant_id;
  write(whose, std::move(done), [key = std::move(key)](Connection& db) { return sql::create_service_key(db, key); });
}

void SqlStore::revoke_service_key(model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                                  Done<model::ServiceKey> done) {
  write(tenant, std::move(done),
        [tenant, id, at](Connection& db) { return sql::revoke_service_key(db, tenant, id, at); });
}

void SqlStore::service_keys(model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                            Done<Page<model::ServiceKey>> done) {
  read(tenant, std::move(done), [tenant, query](Connection& db) { return sql::service_keys(db, tenant, query); });
}

void SqlStore::find_service_key(std::string secret_sha256, Done<KeyHolder> done) {
  read(std::move(done),
       [secret = std::move(secret_sha256)](Connection& db) { return sql::find_service_key(db, secret); });
}

void SqlStore::create_approver_key(model::ApproverKey key, Done<Unit> done) {
  const auto whose = key.tenant_id;
  write(whose, std::move(done), [key = std::move(key)](Connection& db) { return sql::create_approver_key(db, key); });
}

void SqlStore::revoke_approver_key(model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                                   Done<model::ApproverKey> done) {
  write(tenant, std::move(done),
        [tenant, id, at](Connection& db) { return sql::revoke_approver_key(db, tenant, id, at); });
}

void SqlStore::approver_keys(model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                             Done<Page<model::ApproverKey>> done) {
  read(tenant, std::move(done), [tenant, query](Connection& db) { return sql::approver_keys(db, tenant, query); });
}

void SqlStore::create_agent(model::Agent agent, Done<Unit> done) {
  const auto whose = agent.tenant_id;
  write(whose, std::move(done), [agent = std::move(agent)](Connection& db) { return sql::create_agent(db, agent); });
}

void SqlStore::update_agent(model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                            Done<model::Agent> done) {
  write(tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return sql::update_agent(db, tenant, id, patch, at);
  });
}

void SqlStore::delete_agent(model::TenantId tenant, model::AgentId id, Done<Unit> done) {
  write(tenant, std::move(done), [tenant, id](Connection& db) { return sql::delete_agent(db, tenant, id); });
}

void SqlStore::agent(model::TenantId tenant, model::AgentId id, Done<model::Agent> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::agent(db, tenant, id); });
}

void SqlStore::default_agent(model::TenantId tenant, Done<model::Agent> done) {
  read(tenant, std::move(done), [tenant](Connection& db) { return sql::default_agent(db, tenant); });
}

void SqlStore::agents(model::TenantId tenant, PageQuery<model::AgentId> query, Done<Page<model::Agent>> done) {
  read(tenant, std::move(done), [tenant, query](Connection& db) { return sql::agents(db, tenant, query); });
}

// ── conversations and messages ──

void SqlStore::create_conversation(NewConversation made, Done<ConversationOutcome> done) {
  const auto whose = made.conversation.tenant_id;
  write(whose, std::move(done),
        [made = std::move(made)](Connection& db) { return sql::create_conversation(db, made); });
}

void SqlStore::update_conversation(model::TenantId tenant, model::ConversationId id, ConversationPatch patch,
                                   Timestamp at, Done<model::Conversation> done) {
  write(tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return sql::update_conversation(db, tenant, id, patch, at);
  });
}

void SqlStore::conversation(model::TenantId tenant, model::ConversationId id, Done<model::Conversation> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::conversation(db, tenant, id); });
}

void SqlStore::find_conversation(model::ConversationId id, Done<model::Conversation> done) {
  read(std::move(done), [id](Connection& db) { return sql::find_conversation(db, id); });
}

void SqlStore::conversations(model::TenantId tenant, ConversationFilter filter, PageQuery<model::ConversationId> query,
                             Done<Page<model::Conversation>> done) {
  read(tenant, std::move(done), [tenant, filter = std::move(filter), query](Connection& db) {
    return sql::conversations(db, tenant, filter, query);
  });
}

void SqlStore::messages(model::TenantId tenant, model::ConversationId conversation, Order order,
                        PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done) {
  read(tenant, std::move(done), [tenant, conversation, order, query](Connection& db) {
    return sql::messages(db, tenant, conversation, order, query);
  });
}

void SqlStore::message(model::TenantId tenant, model::MessageId id, Done<StoredMessage> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::message(db, tenant, id); });
}

void SqlStore::history(model::ConversationId conversation, model::MessageId before, int count_max,
                       Done<std::vector<Turn>> done) {
  read(conversation, std::move(done),
       [conversation, before, count_max](Connection& db) { return sql::history(db, conversation, before, count_max); });
}

// ── runs ──

void SqlStore::run(model::TenantId tenant, model::RunId id, Done<model::Run> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::run(db, tenant, id); });
}

void SqlStore::run_of_message(model::TenantId tenant, model::MessageId assistant_message, Done<model::Run> done) {
  read(tenant, std::move(done),
       [tenant, assistant_message](Connection& db) { return sql::run_of_message(db, tenant, assistant_message); });
}

void SqlStore::runs(model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
                    Done<Page<model::Run>> done) {
  read(tenant, std::move(done),
       [tenant, filter = std::move(filter), query](Connection& db) { return sql::runs(db, tenant, filter, query); });
}

}  // namespace sluice::store
