// Approvals, secrets, the audit chain and the outbox. Part of the store's public header: errors, threads and
// transactions are those of journal/journal.h. All writes are boundaries. Approvals come and change with their run's
// journal only (journal::Append).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// A run searches all of its output for each of its secrets. Owners that had more before there was this bound keep them.
inline constexpr int64_t secrets_per_owner_max = 100;

struct ApprovalFilter {
  std::optional<model::ConversationId> conversation;
  std::optional<std::string> user_id;  // of the conversation
  std::optional<model::ApprovalStatus> status;
};

// A notice on its way, and where it is to go.
struct DueNotice {
  model::Notice notice;
  std::string url;
  int attempts = 0;
};

// Where secrets of a run may come from.
struct SecretOwners {
  model::TenantId tenant;
  std::optional<model::ConversationId> conversation;
  std::optional<model::AgentId> agent;
};

void approval(Database& database, model::TenantId tenant, model::ApprovalId id, Done<model::Approval> done);
// Newest first. `not_found` when the filter's conversation is not the tenant's.
void approvals(Database& database, model::TenantId tenant, ApprovalFilter filter, PageQuery<model::ApprovalId> query,
               Done<Page<model::Approval>> done);
// The pending one of a parked run.
void open_approval(Database& database, model::RunId run, Done<model::Approval> done);
// With its material, revoked ones too.
void approver_key(Database& database, model::TenantId tenant, model::ApproverKeyId id, Done<model::ApproverKey> done);

// Merges, alias by alias; created_at of one that was there stays. `conflict` when the conversation is archived,
// `not_found` when the owner is not the tenant's, `invalid` in words when aliases are new and it would have more than
// secrets_per_owner_max. The entries go to the audit chain in the same transaction.
void put_secrets(Database& database, std::vector<model::SealedSecret> secrets, std::vector<model::AuditEntry> audit,
                 Done<Unit> done);
void delete_secret(Database& database, model::TenantId tenant, model::SecretScope scope, Ulid owner, std::string alias,
                   std::vector<model::AuditEntry> audit, Done<Unit> done);
// By alias. `not_found` when the owner is not the tenant's.
void secrets_of(Database& database, model::TenantId tenant, model::SecretScope scope, Ulid owner,
                Done<std::vector<model::SealedSecret>> done);
// All that are in reach, the conversation's before the agent's before the tenant's.
void secrets_in_reach(Database& database, SecretOwners owners, Done<std::vector<model::SealedSecret>> done);
// For a change of the operator's key: all there are, and approver keys that are sealed, revoked ones too, a page
// at a time by their row's number, about `limit` of each.
struct SealedPage {
  std::vector<model::SealedSecret> secrets;
  std::vector<model::ApproverKey> keys;
  int64_t next = 0;  // 0: that was all
};
void sealed_page(Database& database, int64_t after, int limit, Done<SealedPage> done);
// `sealed` and `material` only, and only where they are still what `before` says; how many were.
struct Resealed {
  std::optional<model::SealedSecret> secret;  // with the new seal
  std::optional<model::ApproverKey> key;      // with the new material
  std::string before;
};
void reseal(Database& database, std::vector<Resealed> resealed, Done<int> done);

// Numbers, links and hashes are the store's to set. The first entry's link is 32 zero bytes.
void append_audit(Database& database, std::vector<model::AuditEntry> entries, Done<Unit> done);
// After number `after`, oldest first, at most `limit`; of one tenant only when it is given.
void audit(Database& database, std::optional<model::TenantId> tenant, int64_t after, int limit,
           Done<std::vector<model::AuditEntry>> done);

// Those whose time has come, those that wait longest first. Where they go is read from the tenant now; one that
// gives up its webhook_url gives up its notices too, so the last two may find nothing, which is as well.
void due_notices(Database& database, Timestamp now, int limit,
                 Done<std::vector<DueNotice>> done);  // shared: once a minute
void notice_taken(Database& database, model::NoticeId id, Done<Unit> done);
void notice_failed(Database& database, model::NoticeId id, Timestamp again_at, Done<Unit> done);

}  // namespace sluice::store
