// Approvals, secrets, the audit chain and the outbox, in memory.
#include <algorithm>

#include "store/memory_answer.h"
#include "store/memory_store.h"
#include "store/patch.h"
#include "store/secret_rules.h"

namespace sluice::store {

// ── approvals ──

void MemoryStore::approval(model::TenantId tenant, model::ApprovalId id, Done<model::Approval> done) {
  const auto* row = disk_.approvals_.find(id);
  if (row == nullptr || row->tenant_id != tenant) return answer<model::Approval>(no_such("approval"), std::move(done));
  answer<model::Approval>(*row, std::move(done));
}

void MemoryStore::approvals(model::TenantId tenant, ApprovalFilter filter, PageQuery<model::ApprovalId> query,
                            Done<Page<model::Approval>> done) {
  if (filter.conversation && conversation_of(tenant, *filter.conversation) == nullptr) {
    return answer<Page<model::Approval>>(no_such("conversation"), std::move(done));
  }
  auto rows = rows_of<model::Approval>(disk_.approvals_, tenant);
  std::reverse(rows.begin(), rows.end());
  const auto wanted = [&](const model::Approval& row) {
    const auto& user_id = disk_.conversations_.find(row.conversation_id)->conversation.user_id;
    return (!filter.conversation || row.conversation_id == *filter.conversation) &&
           (!filter.user_id || user_id == filter.user_id) && (!filter.status || row.status == *filter.status);
  };
  answer(cut_page(rows, query, id_of, wanted), std::move(done));
}

void MemoryStore::open_approval(model::RunId run, Done<model::Approval> done) {
  for (auto& [number, row] : disk_.approvals_) {
    if (row.run_id != run || row.status != model::ApprovalStatus::pending) continue;
    return answer<model::Approval>(row, std::move(done));
  }
  answer<model::Approval>(no_such("open approval"), std::move(done));
}

void MemoryStore::approver_key(model::TenantId tenant, model::ApproverKeyId id, Done<model::ApproverKey> done) {
  const auto* key = disk_.approver_keys_.find(id);
  if (key == nullptr || key->tenant_id != tenant) {
    return answer<model::ApproverKey>(no_such("approver key"), std::move(done));
  }
  answer<model::ApproverKey>(*key, std::move(done));
}

std::optional<Error> MemoryStore::refusal_of_gate(const Append& append) {
  for (const auto& secret : append.secrets) {
    if (auto refused = refusal_of_owner(secret.tenant_id, secret.scope, secret.owner)) return refused;
  }
  if (!append.approval) return std::nullopt;
  std::optional<model::Approval> kept;
  std::optional<model::Approval> open;
  for (auto& [number, row] : disk_.approvals_) {
    if (row.id == append.approval->id) kept = row;
    if (row.run_id == append.approval->run_id && row.status == model::ApprovalStatus::pending) open = row;
  }
  return refusal(*append.approval, kept, open);
}

void MemoryStore::keep_gate(const Append& append) {
  if (append.approval && !disk_.approvals_.add(append.approval->id, *append.approval)) {
    apply(*append.approval, *disk_.approvals_.find(append.approval->id));
  }
  auto secrets = append.secrets;
  std::erase_if(secrets, [&](const model::SealedSecret& secret) { return refusal_of_secret(secret).has_value(); });
  keep_secrets(secrets);
  keep_audit(append.audit);
  for (const auto& notice : append.notices) {
    const auto* tenant = disk_.tenants_.find(notice.tenant_id);
    if (tenant != nullptr && tenant->webhook_url) disk_.notices_.add(notice.id, {notice, notice.created_at});
  }
}

// ── secrets ──

std::optional<Error> MemoryStore::refusal_of_owner(model::TenantId tenant, model::SecretScope scope, Ulid owner) {
  switch (scope) {
    case model::SecretScope::conversation:
      if (conversation_of(tenant, {owner}) != nullptr) return std::nullopt;
      return no_such("conversation");
    case model::SecretScope::agent:
      if (const auto* agent = disk_.agents_.find({owner}); agent != nullptr && agent->tenant_id == tenant) {
        return std::nullopt;
      }
      return no_such("agent");
    case model::SecretScope::tenant:
      if (owner == tenant.ulid && disk_.tenants_.find(tenant) != nullptr) return std::nullopt;
      return no_such("tenant");
  }
  SLUICE_CHECK(false);
}

std::optional<Error> MemoryStore::refusal_of_secret(const model::SealedSecret& secret) {
  if (auto refused = refusal_of_owner(secret.tenant_id, secret.scope, secret.owner)) return refused;
  if (secret.scope != model::SecretScope::conversation) return std::nullopt;
  const auto& conversation = conversation_of(secret.tenant_id, {secret.owner})->conversation;
  if (conversation.status == model::ConversationStatus::active) return std::nullopt;
  return Error{ErrorKind::conflict, "the conversation is archived"};
}

void MemoryStore::keep_secrets(const std::vector<model::SealedSecret>& secrets) {
  for (const auto& secret : secrets) {
    auto& row = disk_.secrets_[{secret.scope, secret.owner, secret.alias}];
    const auto created_at = row.number == 0 ? secret.created_at : row.secret.created_at;
    if (row.number == 0) row.number = ++disk_.secret_count_;
    row.secret = secret;
    row.secret.created_at = created_at;
  }
}

std::optional<Error> MemoryStore::refusal_of_number(const std::vector<model::SealedSecret>& secrets) {
  const auto count = [&](const model::SealedSecret& secret) {
    return std::ranges::count_if(disk_.secrets_, [&](const auto& row) {
      return row.second.secret.scope == secret.scope && row.second.secret.owner == secret.owner;
    });
  };
  const auto has = [&](const model::SealedSecret& secret) {
    return disk_.secrets_.contains({secret.scope, secret.owner, secret.alias});
  };
  return refusal_of_count(secrets, count, has);
}

void MemoryStore::drop_secrets(model::SecretScope scope, Ulid owner) {
  std::erase_if(disk_.secrets_,
                [&](const auto& row) { return row.second.secret.scope == scope && row.second.secret.owner == owner; });
}

void MemoryStore::put_secrets(std::vector<model::SealedSecret> secrets, std::vector<model::AuditEntry> audit,
                              Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    for (const auto& secret : secrets) {
      if (auto refused = refusal_of_secret(secret)) return *refused;
    }
    if (auto refused = refusal_of_number(secrets)) return *std::move(refused);
    keep_secrets(secrets);
    keep_audit(audit);
    return Unit{};
  });
}

void MemoryStore::delete_secret(model::TenantId tenant, model::SecretScope scope, Ulid owner, std::string alias,
                                std::vector<model::AuditEntry> audit, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (auto refused = refusal_of_owner(tenant, scope, owner)) return *refused;
    if (disk_.secrets_.erase({scope, owner, alias}) == 0) return no_such("secret");
    keep_audit(audit);
    return Unit{};
  });
}

void MemoryStore::secrets_of(model::TenantId tenant, model::SecretScope scope, Ulid owner,
                             Done<std::vector<model::SealedSecret>> done) {
  if (auto refused = refusal_of_owner(tenant, scope, owner)) {
    return answer<std::vector<model::SealedSecret>>(*refused, std::move(done));
  }
  std::vector<model::SealedSecret> found;
  for (const auto& [name, row] : disk_.secrets_) {
    if (row.secret.scope == scope && row.secret.owner == owner) found.push_back(row.secret);
  }
  answer<std::vector<model::SealedSecret>>(std::move(found), std::move(done));
}

void MemoryStore::secrets_in_reach(SecretOwners owners, Done<std::vector<model::SealedSecret>> done) {
  std::vector<model::SealedSecret> found;  // names are ordered by scope, narrowest first, then by alias
  for (const auto& [name, row] : disk_.secrets_) {
    const auto& [tenant, conversation, agent] = owners;
    const auto& secret = row.secret;
    const bool reached = secret.scope == model::SecretScope::conversation
                             ? conversation && secret.owner == conversation->ulid
                         : secret.scope == model::SecretScope::agent ? agent && secret.owner == agent->ulid
                                                                     : secret.owner == tenant.ulid;
    if (reached && secret.tenant_id == tenant) found.push_back(secret);
  }
  answer<std::vector<model::SealedSecret>>(std::move(found), std::move(done));
}

void MemoryStore::sealed_page(int64_t after, int limit, Done<SealedPage> done) {
  std::map<int64_t, SealedPage> by_number;
  for (const auto& [name, row] : disk_.secrets_) by_number[row.number].secrets.push_back(row.secret);
  for (auto& [number, key] : disk_.approver_keys_) {
    if (key.algorithm != model::SignatureAlgorithm::hmac_sha256) continue;
    by_number[static_cast<int64_t>(number)].keys.push_back(key);
  }
  SealedPage page;
  auto row = by_number.upper_bound(after);
  for (int taken = 0; row != by_number.end() && taken < limit; ++row, ++taken) {
    page.secrets.insert(page.secrets.end(), row->second.secrets.begin(), row->second.secrets.end());
    page.keys.insert(page.keys.end(), row->second.keys.begin(), row->second.keys.end());
    page.next = row->first;
  }
  if (row == by_number.end()) page.next = 0;
  answer<SealedPage>(std::move(page), std::move(done));
}

void MemoryStore::reseal(std::vector<Resealed> resealed, Done<int> done) {
  write(std::move(done), [&]() -> Result<int> {
    int changed = 0;
    for (const auto& [secret, key, before] : resealed) {
      if (secret) {
        const auto found = disk_.secrets_.find({secret->scope, secret->owner, secret->alias});
        if (found != disk_.secrets_.end() && found->second.secret.sealed == before) {
          found->second.secret.sealed = secret->sealed;
          ++changed;
        }
      }
      if (!key) continue;
      auto* kept = disk_.approver_keys_.find(key->id);
      if (kept == nullptr || kept->material != before) continue;
      kept->material = key->material;
      ++changed;
    }
    return changed;
  });
}

// ── the audit chain ──

void MemoryStore::keep_audit(const std::vector<model::AuditEntry>& entries) {
  for (const auto& entry : entries) {
    const auto end =
        disk_.audit_.empty() ? ChainEnd{} : ChainEnd{disk_.audit_.back().number, disk_.audit_.back().sha256};
    disk_.audit_.push_back(next_link(entry, end));
  }
}

void MemoryStore::append_audit(std::vector<model::AuditEntry> entries, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    keep_audit(entries);
    return Unit{};
  });
}

void MemoryStore::audit(std::optional<model::TenantId> tenant, int64_t after, int limit,
                        Done<std::vector<model::AuditEntry>> done) {
  std::vector<model::AuditEntry> found;
  for (const auto& entry : disk_.audit_) {
    if (entry.number <= after || (tenant && entry.tenant_id != tenant)) continue;
    if (static_cast<int>(found.size()) == limit) break;
    found.push_back(entry);
  }
  answer<std::vector<model::AuditEntry>>(std::move(found), std::move(done));
}

// ── the outbox ──

void MemoryStore::due_notices(Timestamp now, int limit, Done<std::vector<DueNotice>> done) {
  std::vector<MemoryDisk::NoticeRow> rows;
  for (auto& [number, row] : disk_.notices_) {
    if (row.due_at.ms <= now.ms) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.due_at.ms < b.due_at.ms; });
  std::vector<DueNotice> due;
  for (const auto& row : rows) {
    if (static_cast<int>(due.size()) == limit) break;
    due.push_back({row.notice, *disk_.tenants_.find(row.notice.tenant_id)->webhook_url, row.attempts});
  }
  answer<std::vector<DueNotice>>(std::move(due), std::move(done));
}

void MemoryStore::notice_taken(model::NoticeId id, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.notices_.find(id) != nullptr) disk_.notices_.remove(id);
    return Unit{};
  });
}

void MemoryStore::notice_failed(model::NoticeId id, Timestamp again_at, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    auto* row = disk_.notices_.find(id);
    if (row == nullptr) return Unit{};
    row->due_at = again_at;
    ++row->attempts;
    return Unit{};
  });
}

void MemoryStore::drop_notices(model::TenantId tenant) {
  std::vector<model::NoticeId> dropped;
  for (auto& [number, row] : disk_.notices_) {
    if (row.notice.tenant_id == tenant) dropped.push_back(row.notice.id);
  }
  for (const auto& id : dropped) disk_.notices_.remove(id);
}

}  // namespace sluice::store
