// Parts of several operations' transactions, in SQL that runs on SQLite and PostgreSQL. Each is called inside a
// transaction of its caller's, on the caller's thread. Guards come before writes, so that a refused operation has
// written nothing; what the database refuses is on the connection.
#pragma once

#include "store/questions.h"
#include "store/sql_connection.h"

namespace sluice::store {
struct SecretOwners;
}

namespace sluice::store::sql {

Result<model::Tenant> tenant(Connection& db, model::TenantId id);
Result<model::Agent> agent(Connection& db, model::TenantId tenant, model::AgentId id);
Result<model::Agent> default_agent(Connection& db, model::TenantId tenant);
// The agent with the id `wanted`; all zeros stand for the tenant's default agent.
Result<model::Agent> agent_for(Connection& db, model::TenantId tenant, model::AgentId wanted);
Result<model::Repository> repository(Connection& db, model::TenantId tenant, model::RepositoryId id);
Result<model::Environment> environment(Connection& db, model::TenantId tenant, model::EnvironmentId id);
FoundMaterials materials(Connection& db, model::TenantId tenant, const MaterialNames& names);

Result<model::Conversation> conversation(Connection& db, model::TenantId tenant, model::ConversationId id);
// SQLite's Store::create_conversation().
Result<ConversationOutcome> create_conversation(Connection& db, const NewConversation& made);
// Returns its number.
int64_t insert_conversation(Connection& db, const model::Conversation& conversation);

// What a key was used for, if it was and that is less than a day ago.
struct KeptKey {
  std::string request_sha256;
  std::optional<int64_t> run;  // its number
  std::optional<std::string> response_body;
};
std::optional<KeptKey> find_key(Connection& db, const Idempotency& idempotency, Timestamp now);
void keep_key(Connection& db, const Idempotency& idempotency, std::optional<int64_t> run,
              const std::optional<std::string>& response_body, Timestamp at);

// ── gates ──
// Why what an append brings besides events cannot be kept; empty when it can.
std::optional<Error> refusal_of_gate(Connection& db, const Append& append);
void keep_gate(Connection& db, const Append& append);
// What came with a message that is accepted.
std::optional<Error> refusal_of_secrets(Connection& db, const NewRun& made);
void keep_secrets_of(Connection& db, const NewRun& made);
void drop_secrets(Connection& db, model::SecretScope scope, Ulid owner);
std::vector<model::SealedSecret> secrets_in_reach(Connection& db, const SecretOwners& owners);
void drop_notices(Connection& db, model::TenantId tenant);

// ── AG-UI names ──
// From that message of the conversation on; nothing where it is none of it.
void replace_from(Connection& db, int64_t conversation, const std::optional<model::MessageId>& first);

// Why the names cannot be kept; empty when they can, or there are none.
std::optional<Error> refusal_of_names(Connection& db, const std::optional<AguiRun>& names);
void keep_names(Connection& db, const std::optional<AguiRun>& names);

// ── uploaded files of chats ──
void keep_in_bag(Connection& db, const model::RunFile& file);  // when it is of a chat's run
void join_bag(Connection& db, model::TenantId tenant, model::ConversationId chat,
              const std::vector<model::FileId>& ids);
void drop_bag(Connection& db, model::ConversationId chat, Timestamp at);

// ── tidying up ──
// The rows of deleted tables, and these tables.
int64_t count_deleted_rows(Connection& db);
// So many of them at most; how many there were. A table goes with its last row.
int drop_deleted_rows(Connection& db, int limit);
// Deletes executions that expired before, a bounded number of them, and their tokens.
int drop_executions(Connection& db, Timestamp expired_before, int limit);

}  // namespace sluice::store::sql
