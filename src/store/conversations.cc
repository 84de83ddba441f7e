#include "store/conversations.h"

#include "journal/run_rules.h"
#include "store/database.h"
#include "store/on_disk.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

std::optional<int64_t> conversation_number(Connection& db, model::TenantId tenant, model::ConversationId id) {
  return find_number(db, "SELECT number FROM conversations WHERE id = ? AND tenant_id = ?", id, tenant);
}

}  // namespace

// ── conversations ──

Result<ConversationOutcome> sql::create_conversation(Connection& db, const NewConversation& made) {
  const auto at = made.conversation.created_at;
  journal::ConversationLooks looks;
  if (made.idempotency) {
    if (auto kept = find_key(db, *made.idempotency, at)) {
      looks.key = journal::KnownKey{std::move(kept->request_sha256), std::nullopt, kept->response_body.value_or("")};
    }
  }
  auto agent = agent_for(db, made.conversation.tenant_id, made.conversation.agent_id);
  if (agent) looks.agent = std::move(agent).take();
  const auto decided = decide(made, std::move(looks));
  if (!decided) return decided.error();
  if (const auto* outcome = std::get_if<ConversationOutcome>(&decided.value())) return *outcome;
  insert_conversation(db, std::get<model::Conversation>(decided.value()));
  if (made.idempotency) keep_key(db, *made.idempotency, std::nullopt, made.response_body, at);
  return ConversationOutcome(Unit{});
}

int64_t sql::insert_conversation(Connection& db, const model::Conversation& conversation) {
  return insert_numbered(db, "INSERT INTO conversations VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         conversation.id, conversation.tenant_id, conversation.agent_id, conversation.user_id,
                         conversation.title, metadata_text(conversation.metadata), conversation.filler_enabled,
                         conversation.repository_id, conversation.status, conversation.last_message_at,
                         conversation.created_at, conversation.updated_at, conversation.runtime.agent_type,
                         conversation.runtime.mode, conversation.runtime.sticky_ttl_seconds, conversation.kind);
}

void update_conversation(Database& database, model::TenantId tenant, model::ConversationId id, ConversationPatch patch,
                         Timestamp at, Done<model::Conversation> done) {
  database.write(
      tenant, std::move(done),
      [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::Conversation> {
        auto found = sql::conversation(db, tenant, id);
        if (!found) return found;
        auto& changed = found.value();
        apply(patch, at, changed);
        if (patch.agent_id || changed.status == model::ConversationStatus::active) {
          const auto agent = sql::agent_for(db, tenant, changed.agent_id);
          if (!agent) return agent.error();
          changed.agent_id = agent.value().id;
        }
        execute(db,
                "UPDATE conversations SET agent_id = ?, user_id = ?, title = ?, metadata = ?, filler_enabled = ?, "
                "repository_id = ?, status = ?, updated_at = ?, agent_type = ?, mode = ?, sticky_ttl_seconds = ? WHERE "
                "id = ?",
                changed.agent_id, changed.user_id, changed.title, metadata_text(changed.metadata),
                changed.filler_enabled, changed.repository_id, changed.status, changed.updated_at,
                changed.runtime.agent_type, changed.runtime.mode, changed.runtime.sticky_ttl_seconds, id);
        if (changed.status == model::ConversationStatus::archived) {
          sql::drop_secrets(db, model::SecretScope::conversation, id.ulid);
          sql::drop_bag(db, id, at);
        }
        return found;
      });
}

Result<model::Conversation> sql::conversation(Connection& db, model::TenantId tenant, model::ConversationId id) {
  auto found =
      find_row<model::Conversation>(db, "SELECT * FROM conversations WHERE id = ? AND tenant_id = ?", id, tenant);
  if (!found) return no_such("conversation");
  return *std::move(found);
}

void conversation(Database& database, model::TenantId tenant, model::ConversationId id,
                  Done<model::Conversation> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::conversation(db, tenant, id); });
}

void find_conversation(Database& database, model::ConversationId id, Done<model::Conversation> done) {
  database.read(std::move(done), [id](Connection& db) -> Result<model::Conversation> {
    auto found = find_row<model::Conversation>(db, "SELECT * FROM conversations WHERE id = ?", id);
    if (!found) return no_such("conversation");
    return *std::move(found);
  });
}

void conversations(Database& database, model::TenantId tenant, ConversationFilter filter,
                   PageQuery<model::ConversationId> query, Done<Page<model::Conversation>> done) {
  database.read(
      tenant, std::move(done),
      [tenant, filter = std::move(filter), query](Connection& db) -> Result<Page<model::Conversation>> {
        const auto walk = Walk::of(query, Order::descending);
        int64_t number = walk.before_all();
        Timestamp at{number};
        if (const auto& id = cursor_of(query)) {
          Query cursor(db, "SELECT number, last_message_at FROM conversations WHERE id = ? AND tenant_id = ?", *id,
                       tenant);
          if (!cursor.next()) return no_such("conversation to go on from");
          cursor.read(number, at);
          at = query.cursor_at.value_or(at);
        }
        std::string sql = "SELECT * FROM conversations WHERE tenant_id = ?1 AND kind = ?5";
        if (filter.active_only) sql += " AND status = 'active'";
        if (filter.user_id) sql += " AND user_id = ?6";
        sql += walk.rising
                   ? " AND (last_message_at, number) > (?2, ?3) ORDER BY last_message_at, number LIMIT ?4"
                   : " AND (last_message_at, number) < (?2, ?3) ORDER BY last_message_at DESC, number DESC LIMIT ?4";
        const auto read = [](Query& row) {
          model::Conversation conversation;
          read_row(row, conversation);
          return conversation;
        };
        if (filter.user_id) {
          Query rows(db, sql, tenant, at, number, query.limit + 1, filter.kind, *filter.user_id);
          return take_page<model::Conversation>(rows, query.limit, walk, read);
        }
        Query rows(db, sql, tenant, at, number, query.limit + 1, filter.kind);
        return take_page<model::Conversation>(rows, query.limit, walk, read);
      });
}

// ── messages ──

namespace {

// It is served as it is stored. What the disk made of it shows here, as far as it can be told without reading all of
// it.
bool is_damaged(const StoredMessage& message) {
  return !message.json.starts_with("{\"object\":\"message\",\"id\":\"" + message.id.text() + "\"") ||
         !message.json.ends_with('}');
}

Error damaged(const StoredMessage& message) {
  return {ErrorKind::corrupt, "the row of message " + message.id.text() + " is damaged"};
}

}  // namespace

void messages(Database& database, model::TenantId tenant, model::ConversationId conversation, Order order,
              PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done) {
  database.read(
      tenant, std::move(done), [tenant, conversation, order, query](Connection& db) -> Result<Page<StoredMessage>> {
        const auto number = conversation_number(db, tenant, conversation);
        if (!number) return no_such("conversation");
        std::optional<int64_t> cursor;
        if (const auto& id = cursor_of(query)) {
          cursor = find_number(db, "SELECT number FROM messages WHERE id = ? AND conversation = ?", *id, *number);
          if (!cursor) return no_such("message to go on from");
        }
        auto page = page_by_number<StoredMessage>(db, "SELECT id, json FROM messages WHERE conversation = ?1", "number",
                                                  *number, cursor, query.limit, Walk::of(query, order), [](Query& row) {
                                                    StoredMessage message;
                                                    row.read(message.id, message.json);
                                                    return message;
                                                  });
        const auto found = std::ranges::find_if(page.rows, is_damaged);
        if (found != page.rows.end()) return damaged(*found);
        return page;
      });
}

void message(Database& database, model::TenantId tenant, model::MessageId id, Done<StoredMessage> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<StoredMessage> {
    Query query(db,
                "SELECT messages.id, json, messages.status FROM messages JOIN conversations "
                "ON conversations.number = conversation WHERE messages.id = ? AND tenant_id = ?",
                id, tenant);
    if (!query.next()) return no_such("message");
    StoredMessage message;
    std::string status;
    query.read(message.id, message.json, status);
    message.is_replaced = status == replaced_status;
    if (is_damaged(message)) return damaged(message);
    return message;
  });
}

// ── idempotency keys ──

std::optional<sql::KeptKey> sql::find_key(Connection& db, const Idempotency& idempotency, Timestamp now) {
  Query query(db,
              "SELECT request_sha256, run, response_body FROM idempotency_keys "
              "WHERE principal = ? AND operation = ? AND key = ? AND created_at > ?",
              idempotency.principal, idempotency.operation, idempotency.key, now.ms - limits::idempotency_ms);
  if (!query.next()) return std::nullopt;
  KeptKey kept;
  query.read(kept.request_sha256, kept.run, kept.response_body);
  return kept;
}

void sql::keep_key(Connection& db, const Idempotency& idempotency, std::optional<int64_t> run,
                   const std::optional<std::string>& response_body, Timestamp at) {
  // The one that is there is of another day.
  execute(db,
          "INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (principal, operation, key) DO UPDATE "
          "SET request_sha256 = excluded.request_sha256, run = excluded.run, response_body = excluded.response_body, "
          "created_at = excluded.created_at",
          idempotency.principal, idempotency.operation, idempotency.key, Blob{idempotency.request_sha256}, run,
          response_body, at);
}

}  // namespace sluice::store
