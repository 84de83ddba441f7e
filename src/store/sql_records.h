// Tenants, keys, agents, conversations and messages in SQL. Each function is one operation of the
// store, inside a transaction of its caller's. Guards come before writes, so that what is refused
// has written nothing; what the database refuses is on the connection.
#pragma once

#include "store/sql_connection.h"
#include "store/store.h"

namespace sluice::store::sql {

Result<Unit> create_tenant(Connection& db, const model::Tenant& tenant, const model::Agent& default_agent);
Result<model::Tenant> update_tenant(Connection& db, model::TenantId id, const TenantPatch& patch, Timestamp at);
Result<model::Tenant> tenant(Connection& db, model::TenantId id);
Result<Page<model::Tenant>> tenants(Connection& db, const PageQuery<model::TenantId>& query);

Result<Unit> create_service_key(Connection& db, const model::ServiceKey& key);
Result<model::ServiceKey> revoke_service_key(Connection& db, model::TenantId tenant, model::ServiceKeyId id,
                                             Timestamp at);
Result<Page<model::ServiceKey>> service_keys(Connection& db, model::TenantId tenant,
                                             const PageQuery<model::ServiceKeyId>& query);
Result<KeyHolder> find_service_key(Connection& db, const std::string& secret_sha256);

Result<Unit> create_approver_key(Connection& db, const model::ApproverKey& key);
Result<model::ApproverKey> revoke_approver_key(Connection& db, model::TenantId tenant, model::ApproverKeyId id,
                                               Timestamp at);
Result<Page<model::ApproverKey>> approver_keys(Connection& db, model::TenantId tenant,
                                               const PageQuery<model::ApproverKeyId>& query);

Result<Unit> create_agent(Connection& db, const model::Agent& agent);
Result<model::Agent> update_agent(Connection& db, model::TenantId tenant, model::AgentId id, const AgentPatch& patch,
                                  Timestamp at);
Result<Unit> delete_agent(Connection& db, model::TenantId tenant, model::AgentId id);
Result<model::Agent> agent(Connection& db, model::TenantId tenant, model::AgentId id);
Result<model::Agent> default_agent(Connection& db, model::TenantId tenant);
// The one that `wanted` stands for: all zeros are the tenant's default agent.
Result<model::Agent> agent_for(Connection& db, model::TenantId tenant, model::AgentId wanted);
Result<Page<model::Agent>> agents(Connection& db, model::TenantId tenant, const PageQuery<model::AgentId>& query);

Result<ConversationOutcome> create_conversation(Connection& db, const NewConversation& made);
// Its number.
int64_t insert_conversation(Connection& db, const model::Conversation& conversation);
Result<model::Conversation> update_conversation(Connection& db, model::TenantId tenant, model::ConversationId id,
                                                const ConversationPatch& patch, Timestamp at);
Result<model::Conversation> conversation(Connection& db, model::TenantId tenant, model::ConversationId id);
Result<model::Conversation> find_conversation(Connection& db, model::ConversationId id);
Result<Page<model::Conversation>> conversations(Connection& db, model::TenantId tenant,
                                                const ConversationFilter& filter,
                                                const PageQuery<model::ConversationId>& query);

Result<Page<StoredMessage>> messages(Connection& db, model::TenantId tenant, model::ConversationId conversation,
                                     Order order, const PageQuery<model::MessageId>& query);
Result<StoredMessage> message(Connection& db, model::TenantId tenant, model::MessageId id);
Result<std::vector<Turn>> history(Connection& db, model::ConversationId conversation, model::MessageId before,
                                  int count_max);

// What a key was used for, if it was and that is less than a day ago.
struct KeptKey {
  std::string request_sha256;
  std::optional<int64_t> run;  // its number
  std::optional<std::string> response_body;
};
std::optional<KeptKey> find_key(Connection& db, const Idempotency& idempotency, Timestamp now);
void keep_key(Connection& db, const Idempotency& idempotency, std::optional<int64_t> run,
              const std::optional<std::string>& response_body, Timestamp at);

}  // namespace sluice::store::sql
