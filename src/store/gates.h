// Approvals, secrets, the audit chain and the outbox. Part of the store's door: the errors, the
// threads and the transactions are those of store/store.h. All writes are boundaries. Approvals come
// and change with their run's journal only (store::Append).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// Each run looks for all of them in all that it says. Owners that had more before there was this bound keep them.
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

class Gates {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Gates() = default;

  virtual void approval(model::TenantId tenant, model::ApprovalId id, Answer<model::Approval> done) = 0;
  // Newest first. `not_found` when the filter's conversation is not the tenant's.
  virtual void approvals(model::TenantId tenant, ApprovalFilter filter, PageQuery<model::ApprovalId> query,
                         Answer<Page<model::Approval>> done) = 0;
  // The pending one of a parked run.
  virtual void open_approval(model::RunId run, Answer<model::Approval> done) = 0;
  // With its material, revoked ones too.
  virtual void approver_key(model::TenantId tenant, model::ApproverKeyId id, Answer<model::ApproverKey> done) = 0;

  // Merges, alias by alias; created_at of one that was there stays. `conflict` when the conversation is archived,
  // `not_found` when the owner is not the tenant's, `invalid` in words when aliases are new and it would have more than
  // secrets_per_owner_max. The entries go to the audit chain in the same transaction.
  virtual void put_secrets(std::vector<model::SealedSecret> secrets, std::vector<model::AuditEntry> audit,
                           Answer<Unit> done) = 0;
  virtual void delete_secret(model::TenantId tenant, model::SecretScope scope, Ulid owner, std::string alias,
                             std::vector<model::AuditEntry> audit, Answer<Unit> done) = 0;
  // By alias. `not_found` when the owner is not the tenant's.
  virtual void secrets_of(model::TenantId tenant, model::SecretScope scope, Ulid owner,
                          Answer<std::vector<model::SealedSecret>> done) = 0;
  // All that are in reach, the conversation's before the agent's before the tenant's.
  virtual void secrets_in_reach(SecretOwners owners, Answer<std::vector<model::SealedSecret>> done) = 0;
  // For a change of the operator's key: all there are, and approver keys that are sealed, revoked ones too, a page
  // at a time by their row's number, about `limit` of each.
  struct SealedPage {
    std::vector<model::SealedSecret> secrets;
    std::vector<model::ApproverKey> keys;
    int64_t next = 0;  // 0: that was all
  };
  virtual void sealed_page(int64_t after, int limit, Answer<SealedPage> done) = 0;
  // `sealed` and `material` only, and only where they are still what `before` says; how many were.
  struct Resealed {
    std::optional<model::SealedSecret> secret;  // with the new seal
    std::optional<model::ApproverKey> key;      // with the new material
    std::string before;
  };
  virtual void reseal(std::vector<Resealed> resealed, Answer<int> done) = 0;

  // Numbers, links and hashes are the store's to set. The first entry's link is 32 zero bytes.
  virtual void append_audit(std::vector<model::AuditEntry> entries, Answer<Unit> done) = 0;
  // After number `after`, oldest first, at most `limit`; of one tenant only when it is given.
  virtual void audit(std::optional<model::TenantId> tenant, int64_t after, int limit,
                     Answer<std::vector<model::AuditEntry>> done) = 0;

  // Those whose time has come, those that wait longest first. Where they go is read from the tenant now; one that
  // gives up its webhook_url gives up its notices too, so the last two may find nothing, which is as well.
  virtual void due_notices(Timestamp now, int limit, Answer<std::vector<DueNotice>> done) = 0;  // shared: once a minute
  virtual void notice_taken(model::NoticeId id, Answer<Unit> done) = 0;
  virtual void notice_failed(model::NoticeId id, Timestamp again_at, Answer<Unit> done) = 0;
};

}  // namespace sluice::store
