#include "store/gates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/notice_limits.h"
#include "store/database.h"
#include "store/on_disk.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

// `count` says how many an owner has, `has` whether one is among them already.
std::optional<Error> refusal_of_count(const std::vector<model::SealedSecret>& secrets,
                                      const std::function<int64_t(const model::SealedSecret&)>& count,
                                      const std::function<bool(const model::SealedSecret&)>& has) {
  std::map<std::pair<model::SecretScope, Ulid>, int64_t> added;
  for (const auto& secret : secrets) {
    if (!has(secret)) ++added[{secret.scope, secret.owner}];
  }
  for (const auto& secret : secrets) {
    const auto more = added.find({secret.scope, secret.owner});
    if (more == added.end() || count(secret) + more->second <= secrets_per_owner_max) continue;
    return Error{ErrorKind::invalid, "would be more than " + std::to_string(secrets_per_owner_max) +
                                         " secrets of this " + std::string(model::name_of(secret.scope)) +
                                         "; delete some first"};
  }
  return std::nullopt;
}

std::optional<Error> refusal_of_owner(Connection& db, model::TenantId tenant, model::SecretScope scope, Ulid owner) {
  switch (scope) {
    case model::SecretScope::conversation:
      if (find_number(db, "SELECT number FROM conversations WHERE id = ? AND tenant_id = ?", owner, tenant)) return {};
      return no_such("conversation");
    case model::SecretScope::agent:
      if (find_number(db, "SELECT number FROM agents WHERE id = ? AND tenant_id = ?", owner, tenant)) return {};
      return no_such("agent");
    case model::SecretScope::tenant:
      if (owner == tenant.ulid && has_tenant(db, tenant)) return {};
      return no_such("tenant");
  }
  return no_such("owner");
}

std::optional<Error> refusal_of_owners(Connection& db, const std::vector<model::SealedSecret>& secrets) {
  for (const auto& secret : secrets) {
    if (auto refused = refusal_of_owner(db, secret.tenant_id, secret.scope, secret.owner)) return refused;
  }
  return std::nullopt;
}

std::optional<Error> refusal_of_number(Connection& db, const std::vector<model::SealedSecret>& secrets) {
  const auto count = [&](const model::SealedSecret& secret) {
    return find_number(db, "SELECT count(*) FROM secrets WHERE scope = ? AND owner = ?", secret.scope, secret.owner)
        .value_or(0);
  };
  const auto has = [&](const model::SealedSecret& secret) {
    return find_number(db, "SELECT number FROM secrets WHERE scope = ? AND owner = ? AND alias = ?", secret.scope,
                       secret.owner, secret.alias)
        .has_value();
  };
  return refusal_of_count(secrets, count, has);
}

bool is_archived(Connection& db, const model::SealedSecret& secret) {
  return secret.scope == model::SecretScope::conversation &&
         find_number(db, "SELECT number FROM conversations WHERE id = ? AND status = 'archived'", secret.owner);
}

void keep_secrets(Connection& db, const std::vector<model::SealedSecret>& secrets) {
  for (const auto& secret : secrets) {
    execute(db,
            "INSERT INTO secrets VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, owner, alias) DO UPDATE "
            "SET hosts = excluded.hosts, places = excluded.places, sealed = excluded.sealed, "
            "updated_at = excluded.updated_at",
            secret.tenant_id, secret.scope, secret.owner, secret.alias, list_text(secret.hosts), int{secret.places},
            Blob{secret.sealed}, secret.created_at, secret.updated_at);
  }
}

// Nothing comes between the chain's end and what follows it: SQLite has one writer, and in PostgreSQL the transaction
// holds the lock of the records alone, or that of the chain.
void keep_audit(Connection& db, const std::vector<model::AuditEntry>& entries) {
  if (entries.empty()) return;
  ChainEnd end;
  {
    Query query(db, "SELECT number, sha256 FROM audit ORDER BY number DESC LIMIT 1");
    if (query.next()) query.read(end.number, end.sha256);
  }
  for (const auto& entry : entries) {
    const auto link = next_link(entry, end);
    execute(db, "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", link.number, link.tenant_id, link.action,
            link.subject, link.actor, link.detail, link.at, Blob{link.previous_sha256}, Blob{link.sha256});
    end = {link.number, link.sha256};
  }
}

void keep_approval(Connection& db, const model::Approval& approval) {
  if (!find_number(db, "SELECT number FROM approvals WHERE id = ?", approval.id)) {
    execute(db, "INSERT INTO approvals VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", approval.id,
            approval.tenant_id, approval.conversation_id, approval.message_id, approval.run_id, approval.status,
            approval.reason, items_text(approval.requested_items), approval.note, approval.resolved_by,
            approval.resolved_at, approval.expires_at, approval.created_at, approval.updated_at);
    return;
  }
  execute(db,
          "UPDATE approvals SET status = ?, note = ?, resolved_by = ?, resolved_at = ?, updated_at = ? WHERE id = ?",
          approval.status, approval.note, approval.resolved_by, approval.resolved_at, approval.updated_at, approval.id);
}

std::optional<model::Approval> open_approval_of(Connection& db, model::RunId run) {
  return find_row<model::Approval>(db, "SELECT * FROM approvals WHERE run_id = ? AND status = 'pending'", run);
}

template <typename Row, typename... Values>
std::vector<Row> rows(Connection& db, std::string_view sql, const Values&... values) {
  Query query(db, sql, values...);
  std::vector<Row> found;
  while (query.next()) read_row(query, found.emplace_back());
  return found;
}

}  // namespace

// ── approvals ──

void approval(Database& database, model::TenantId tenant, model::ApprovalId id, Done<model::Approval> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::Approval> {
    auto found = find_row<model::Approval>(db, "SELECT * FROM approvals WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!found) return no_such("approval");
    return *std::move(found);
  });
}

void approvals(Database& database, model::TenantId tenant, ApprovalFilter filter, PageQuery<model::ApprovalId> query,
               Done<Page<model::Approval>> done) {
  database.read(
      tenant, std::move(done),
      [tenant, filter = std::move(filter), query](Connection& db) -> Result<Page<model::Approval>> {
        if (filter.conversation &&
            refusal_of_owner(db, tenant, model::SecretScope::conversation, filter.conversation->ulid)) {
          return no_such("conversation");
        }
        std::optional<int64_t> cursor;
        if (const auto& id = cursor_of(query)) {
          cursor = find_number(db, "SELECT number FROM approvals WHERE id = ? AND tenant_id = ?", *id, tenant);
          if (!cursor) return no_such("approval to go on from");
        }
        // Where it has a conversation to go by, the database must not walk all of the tenant's: an expression has no
        // index.
        const bool narrow = filter.conversation || filter.user_id;
        std::string sql = "SELECT * FROM approvals WHERE ";
        sql += narrow ? "coalesce(tenant_id, tenant_id) = ?1" : "tenant_id = ?1";
        sql += filter.conversation ? " AND conversation_id = ?4" : " AND ?4 IS NULL";
        sql += filter.status ? " AND status = ?5" : " AND ?5 IS NULL";
        sql += filter.user_id
                   ? " AND conversation_id IN (SELECT id FROM conversations WHERE tenant_id = ?1 AND user_id = ?6)"
                   : " AND ?6 IS NULL";
        const auto read = [](Query& row) {
          model::Approval listed;
          read_row(row, listed);
          return listed;
        };
        return page_by_number<model::Approval>(db, sql, "number", tenant, cursor, query.limit,
                                               Walk::of(query, Order::descending), read, filter.conversation,
                                               filter.status, filter.user_id);
      });
}

void open_approval(Database& database, model::RunId run, Done<model::Approval> done) {
  database.read(run, std::move(done), [run](Connection& db) -> Result<model::Approval> {
    auto found = open_approval_of(db, run);
    if (!found) return no_such("open approval");
    return *std::move(found);
  });
}

void approver_key(Database& database, model::TenantId tenant, model::ApproverKeyId id, Done<model::ApproverKey> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::ApproverKey> {
    auto key =
        find_row<model::ApproverKey>(db, "SELECT * FROM approver_keys WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!key) return no_such("approver key");
    return *std::move(key);
  });
}

// ── what an append brings besides events ──

std::optional<Error> sql::refusal_of_gate(Connection& db, const Append& append) {
  if (auto refused = refusal_of_owners(db, append.secrets)) return refused;
  if (!append.approval) return std::nullopt;
  const auto& approval = *append.approval;
  return journal::refusal(approval, find_row<model::Approval>(db, "SELECT * FROM approvals WHERE id = ?", approval.id),
                          open_approval_of(db, approval.run_id));
}

void sql::keep_gate(Connection& db, const Append& append) {
  if (append.approval) keep_approval(db, *append.approval);
  // A run must not be lost because its conversation was archived while somebody decided.
  auto secrets = append.secrets;
  std::erase_if(secrets, [&](const model::SealedSecret& secret) { return is_archived(db, secret); });
  keep_secrets(db, secrets);
  keep_audit(db, append.audit);
  for (const auto& notice : append.notices) {
    execute(db,
            "INSERT INTO notices (id, tenant_id, kind, body, created_at, due_at, attempts) "
            "SELECT ?1, id, ?3, ?4, ?5, ?5, 0 FROM tenants "
            "WHERE id = ?2 AND webhook_url IS NOT NULL",
            notice.id, notice.tenant_id, notice.kind, notice.body, notice.created_at);
  }
}

std::optional<Error> sql::refusal_of_secrets(Connection& db, const NewRun& made) {
  return refusal_of_number(db, made.secrets);
}

void sql::keep_secrets_of(Connection& db, const NewRun& made) {
  keep_secrets(db, made.secrets);
  keep_audit(db, made.audit);
}

// ── secrets ──

void put_secrets(Database& database, std::vector<model::SealedSecret> secrets, std::vector<model::AuditEntry> audit,
                 Done<Unit> done) {
  const auto whose = secrets.empty() ? model::TenantId{} : secrets.front().tenant_id;
  database.write(
      whose, std::move(done), [secrets = std::move(secrets), audit = std::move(audit)](Connection& db) -> Result<Unit> {
        if (auto refused = refusal_of_owners(db, secrets)) return *std::move(refused);
        if (std::ranges::any_of(secrets, [&](const model::SealedSecret& secret) { return is_archived(db, secret); })) {
          return Error{ErrorKind::conflict, "the conversation is archived"};
        }
        if (auto refused = refusal_of_number(db, secrets)) return *std::move(refused);
        keep_secrets(db, secrets);
        keep_audit(db, audit);
        return Unit{};
      });
}

void delete_secret(Database& database, model::TenantId tenant, model::SecretScope scope, Ulid owner, std::string alias,
                   std::vector<model::AuditEntry> audit, Done<Unit> done) {
  database.write(
      tenant, std::move(done),
      [tenant, scope, owner, alias = std::move(alias), audit = std::move(audit)](Connection& db) -> Result<Unit> {
        if (auto refused = refusal_of_owner(db, tenant, scope, owner)) return *std::move(refused);
        const auto number = find_number(db, "SELECT number FROM secrets WHERE scope = ? AND owner = ? AND alias = ?",
                                        scope, owner, alias);
        if (!number) return no_such("secret");
        execute(db, "DELETE FROM secrets WHERE number = ?", *number);
        keep_audit(db, audit);
        return Unit{};
      });
}

void secrets_of(Database& database, model::TenantId tenant, model::SecretScope scope, Ulid owner,
                Done<std::vector<model::SealedSecret>> done) {
  database.read(tenant, std::move(done),
                [tenant, scope, owner](Connection& db) -> Result<std::vector<model::SealedSecret>> {
                  if (auto refused = refusal_of_owner(db, tenant, scope, owner)) return *std::move(refused);
                  return rows<model::SealedSecret>(
                      db, "SELECT * FROM secrets WHERE scope = ? AND owner = ? ORDER BY alias", scope, owner);
                });
}

std::vector<model::SealedSecret> sql::secrets_in_reach(Connection& db, const SecretOwners& owners) {
  // One question, because every message asks it. An id of zeros finds nothing.
  const auto agent = owners.agent.value_or(model::AgentId{});
  const auto conversation = owners.conversation.value_or(model::ConversationId{});
  auto found = rows<model::SealedSecret>(
      db,
      "SELECT * FROM secrets WHERE scope = 'conversation' AND owner = ?1 AND tenant_id = ?3 UNION ALL "
      "SELECT * FROM secrets WHERE scope = 'agent' AND owner = ?2 AND tenant_id = ?3 UNION ALL "
      "SELECT * FROM secrets WHERE scope = 'tenant' AND owner = ?3 AND tenant_id = ?3",
      conversation, agent, owners.tenant);
  std::ranges::sort(found, {}, [](const model::SealedSecret& secret) {
    return std::pair(static_cast<int>(secret.scope), std::string_view(secret.alias));
  });
  return found;
}

void secrets_in_reach(Database& database, SecretOwners owners, Done<std::vector<model::SealedSecret>> done) {
  database.read(std::move(done), [owners](Connection& db) -> Result<std::vector<model::SealedSecret>> {
    return sql::secrets_in_reach(db, owners);
  });
}

void sql::drop_secrets(Connection& db, model::SecretScope scope, Ulid owner) {
  execute(db, "DELETE FROM secrets WHERE scope = ? AND owner = ?", scope, owner);
}

// Two tables are walked by one number: the page ends where the first of them would be cut. Keys of another
// algorithm are public, so they are not sealed.
void sealed_page(Database& database, int64_t after, int limit, Done<SealedPage> done) {
  database.read(std::move(done), [after, limit](Connection& db) -> Result<SealedPage> {
    constexpr auto all = std::numeric_limits<int64_t>::max();
    constexpr auto sealed = model::SignatureAlgorithm::hmac_sha256;
    const auto until = std::min(
        find_number(db, "SELECT number FROM secrets WHERE number > ? ORDER BY number LIMIT 1 OFFSET ?", after,
                    limit - 1)
            .value_or(all),
        find_number(
            db, "SELECT number FROM approver_keys WHERE algorithm = ? AND number > ? ORDER BY number LIMIT 1 OFFSET ?",
            sealed, after, limit - 1)
            .value_or(all));
    SealedPage page;
    page.secrets = rows<model::SealedSecret>(
        db, "SELECT * FROM secrets WHERE number > ? AND number <= ? ORDER BY number", after, until);
    page.keys = rows<model::ApproverKey>(
        db, "SELECT * FROM approver_keys WHERE algorithm = ? AND number > ? AND number <= ? ORDER BY number", sealed,
        after, until);
    page.next = until == all ? 0 : until;
    return page;
  });
}

void reseal(Database& database, std::vector<Resealed> resealed, Done<int> done) {
  database.write(std::move(done), [resealed = std::move(resealed)](Connection& db) -> Result<int> {
    int changed = 0;
    for (const auto& [secret, key, before] : resealed) {
      if (secret) {
        execute(db, "UPDATE secrets SET sealed = ? WHERE scope = ? AND owner = ? AND alias = ? AND sealed = ?",
                Blob{secret->sealed}, secret->scope, secret->owner, secret->alias, Blob{before});
        changed += db.change_count();
      }
      if (key) {
        execute(db, "UPDATE approver_keys SET material = ? WHERE id = ? AND material = ?", Blob{key->material}, key->id,
                Blob{before});
        changed += db.change_count();
      }
    }
    return changed;
  });
}

// ── the audit chain ──

void append_audit(Database& database, std::vector<model::AuditEntry> entries, Done<Unit> done) {
  const auto whose = entries.empty() ? model::TenantId{} : entries.front().tenant_id.value_or(model::TenantId{});
  database.write(whose, std::move(done), [entries = std::move(entries)](Connection& db) -> Result<Unit> {
    keep_audit(db, entries);
    return Unit{};
  });
}

void audit(Database& database, std::optional<model::TenantId> tenant, int64_t after, int limit,
           Done<std::vector<model::AuditEntry>> done) {
  database.read(std::move(done), [tenant, after, limit](Connection& db) -> Result<std::vector<model::AuditEntry>> {
    if (!tenant) {
      return rows<model::AuditEntry>(db, "SELECT * FROM audit WHERE number > ? ORDER BY number LIMIT ?", after, limit);
    }
    return rows<model::AuditEntry>(db, "SELECT * FROM audit WHERE tenant_id = ? AND number > ? ORDER BY number LIMIT ?",
                                   *tenant, after, limit);
  });
}

// ── the outbox ──

// How long a server that shares the database keeps the notices that it took.
constexpr int64_t claimed_ms = 60'000;

// One server alone reads them. Of several, each takes its own: no other server gets the same ones for a minute.
void due_notices(Database& database, Timestamp now, int limit, Done<std::vector<DueNotice>> done) {
  const auto read = [](Query& query) {
    std::vector<DueNotice> due;
    while (query.next()) {
      auto& [notice, url, attempts] = due.emplace_back();
      query.read(notice.id, notice.tenant_id, notice.kind, notice.body, notice.created_at, url, attempts);
    }
    return due;
  };
  if (database.is_shared()) {
    return database.write_unlocked(
        std::move(done), [now, limit, read](Connection& db) -> Result<std::vector<DueNotice>> {
          Query query(
              db,
              "WITH fair AS (SELECT number, row_number() OVER (PARTITION BY tenant_id ORDER BY due_at, number) AS turn "
              "FROM notices WHERE due_at <= ?1), claimed AS (SELECT n.number, n.due_at, fair.turn FROM notices n "
              "JOIN fair ON fair.number = n.number WHERE n.due_at <= ?1 AND fair.turn <= ?4 "
              "ORDER BY fair.turn, n.due_at, n.number LIMIT ?2 FOR UPDATE OF n SKIP LOCKED), "
              "given AS (UPDATE notices n SET due_at = ?1 + ?3 FROM claimed WHERE n.number = claimed.number "
              "RETURNING n.*, claimed.turn, claimed.due_at AS since) SELECT given.id, given.tenant_id, kind, body, "
              "given.created_at, webhook_url, attempts "
              "FROM given JOIN tenants ON tenants.id = given.tenant_id ORDER BY given.turn, since, given.number",
              now, limit, claimed_ms, limits::due_notices_of_tenant_max);
          return read(query);
        });
  }
  database.read(std::move(done), [now, limit, read](Connection& db) -> Result<std::vector<DueNotice>> {
    Query query(
        db,
        "WITH fair AS (SELECT number AS one, row_number() OVER (PARTITION BY tenant_id ORDER BY due_at, number) "
        "AS turn FROM notices WHERE due_at <= ?) "
        "SELECT notices.id, notices.tenant_id, kind, body, notices.created_at, webhook_url, attempts "
        "FROM fair CROSS JOIN notices CROSS JOIN tenants "
        "WHERE turn <= ? AND notices.number = one AND tenants.id = notices.tenant_id "
        "ORDER BY turn, due_at, notices.number LIMIT ?",
        now, limits::due_notices_of_tenant_max, limit);
    return read(query);
  });
}

void notice_taken(Database& database, model::NoticeId id, Done<Unit> done) {
  database.write(std::move(done), [id](Connection& db) -> Result<Unit> {
    execute(db, "DELETE FROM notices WHERE id = ?", id);
    return Unit{};
  });
}

void notice_failed(Database& database, model::NoticeId id, Timestamp again_at, Done<Unit> done) {
  database.write(std::move(done), [id, again_at](Connection& db) -> Result<Unit> {
    execute(db, "UPDATE notices SET due_at = ?, attempts = attempts + 1 WHERE id = ?", again_at, id);
    return Unit{};
  });
}

void sql::drop_notices(Connection& db, model::TenantId tenant) {
  execute(db, "DELETE FROM notices WHERE tenant_id = ?", tenant);
}

}  // namespace sluice::store
