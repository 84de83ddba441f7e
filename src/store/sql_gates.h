// Approvals, secrets, the audit chain and the outbox in SQL. As in sql_records.h, each function is
// one operation; those at the end are parts of others.
#pragma once

#include "store/sql_connection.h"
#include "store/store.h"

namespace sluice::store::sql {

Result<model::Approval> approval(Connection& db, model::TenantId tenant, model::ApprovalId id);
Result<Page<model::Approval>> approvals(Connection& db, model::TenantId tenant, const ApprovalFilter& filter,
                                        const PageQuery<model::ApprovalId>& query);
Result<model::Approval> open_approval(Connection& db, model::RunId run);
Result<model::ApproverKey> approver_key(Connection& db, model::TenantId tenant, model::ApproverKeyId id);

Result<Unit> put_secrets(Connection& db, const std::vector<model::SealedSecret>& secrets,
                         const std::vector<model::AuditEntry>& audit);
Result<Unit> delete_secret(Connection& db, model::TenantId tenant, model::SecretScope scope, Ulid owner,
                           const std::string& alias, const std::vector<model::AuditEntry>& audit);
Result<std::vector<model::SealedSecret>> secrets_of(Connection& db, model::TenantId tenant, model::SecretScope scope,
                                                    Ulid owner);
Result<std::vector<model::SealedSecret>> secrets_in_reach(Connection& db, const SecretOwners& owners);
Result<Gates::SealedPage> sealed_page(Connection& db, int64_t after, int limit);
Result<int> reseal(Connection& db, const std::vector<Gates::Resealed>& resealed);

Result<Unit> append_audit(Connection& db, const std::vector<model::AuditEntry>& entries);
Result<std::vector<model::AuditEntry>> audit(Connection& db, std::optional<model::TenantId> tenant, int64_t after,
                                             int limit);

Result<std::vector<DueNotice>> due_notices(Connection& db, Timestamp now, int limit);
Result<Unit> notice_taken(Connection& db, model::NoticeId id);
Result<Unit> notice_failed(Connection& db, model::NoticeId id, Timestamp again_at);

// Why what an append brings besides events cannot be kept; empty when it can.
std::optional<Error> refusal_of_gate(Connection& db, const Append& append);
void keep_gate(Connection& db, const Append& append);
// What came with a message that is accepted.
std::optional<Error> refusal_of_secrets(Connection& db, const NewRun& made);
void keep_secrets_of(Connection& db, const NewRun& made);
void drop_secrets(Connection& db, model::SecretScope scope, Ulid owner);
void drop_notices(Connection& db, model::TenantId tenant);

}  // namespace sluice::store::sql
