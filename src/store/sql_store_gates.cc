// How a SqlStore does what store/gates.h asks for: each operation on its thread.
#include "store/sql_gates.h"
#include "store/sql_store.h"

namespace sluice::store {

void SqlStore::approval(model::TenantId tenant, model::ApprovalId id, Done<model::Approval> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::approval(db, tenant, id); });
}

void SqlStore::approvals(model::TenantId tenant, ApprovalFilter filter, PageQuery<model::ApprovalId> query,
                         Done<Page<model::Approval>> done) {
  read(tenant, std::move(done), [tenant, filter = std::move(filter), query](Connection& db) {
    return sql::approvals(db, tenant, filter, query);
  });
}

void SqlStore::open_approval(model::RunId run, Done<model::Approval> done) {
  read(run, std::move(done), [run](Connection& db) { return sql::open_approval(db, run); });
}

void SqlStore::approver_key(model::TenantId tenant, model::ApproverKeyId id, Done<model::ApproverKey> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::approver_key(db, tenant, id); });
}

void SqlStore::put_secrets(std::vector<model::SealedSecret> secrets, std::vector<model::AuditEntry> audit,
                           Done<Unit> done) {
  const auto whose = secrets.empty() ? model::TenantId{} : secrets.front().tenant_id;
  write(whose, std::move(done), [secrets = std::move(secrets), audit = std::move(audit)](Connection& db) {
    return sql::put_secrets(db, secrets, audit);
  });
}

void SqlStore::delete_secret(model::TenantId tenant, model::SecretScope scope, Ulid owner, std::string alias,
                             std::vector<model::AuditEntry> audit, Done<Unit> done) {
  write(tenant, std::move(done),
        [tenant, scope, owner, alias = std::move(alias), audit = std::move(audit)](Connection& db) {
          return sql::delete_secret(db, tenant, scope, owner, alias, audit);
        });
}

void SqlStore::secrets_of(model::TenantId tenant, model::SecretScope scope, Ulid owner,
                          Done<std::vector<model::SealedSecret>> done) {
  read(tenant, std::move(done),
       [tenant, scope, owner](Connection& db) { return sql::secrets_of(db, tenant, scope, owner); });
}

void SqlStore::secrets_in_reach(SecretOwners owners, Done<std::vector<model::SealedSecret>> done) {
  read(std::move(done), [owners](Connection& db) { return sql::secrets_in_reach(db, owners); });
}

void SqlStore::sealed_page(int64_t after, int limit, Done<SealedPage> done) {
  read(std::move(done), [after, limit](Connection& db) { return sql::sealed_page(db, after, limit); });
}

void SqlStore::reseal(std::vector<Resealed> resealed, Done<int> done) {
  write(std::move(done), [resealed = std::move(resealed)](Connection& db) { return sql::reseal(db, resealed); });
}

void SqlStore::append_audit(std::vector<model::AuditEntry> entries, Done<Unit> done) {
  const auto whose = entries.empty() ? model::TenantId{} : entries.front().tenant_id.value_or(model::TenantId{});
  write(whose, std::move(done),
        [entries = std::move(entries)](Connection& db) { return sql::append_audit(db, entries); });
}

void SqlStore::audit(std::optional<model::TenantId> tenant, int64_t after, int limit,
                     Done<std::vector<model::AuditEntry>> done) {
  read(std::move(done), [tenant, after, limit](Connection& db) { return sql::audit(db, tenant, after, limit); });
}

void SqlStore::due_notices(Timestamp now, int limit, Done<std::vector<DueNotice>> done) {
  read(std::move(done), [now, limit](Connection& db) { return sql::due_notices(db, now, limit); });
}

void SqlStore::notice_taken(model::NoticeId id, Done<Unit> done) {
  write(std::move(done), [id](Connection& db) { return sql::notice_taken(db, id); });
}

void SqlStore::notice_failed(model::NoticeId id, Timestamp again_at, Done<Unit> done) {
  write(std::move(done), [id, again_at](Connection& db) { return sql::notice_failed(db, id, again_at); });
}

}  // namespace sluice::store
