#include "store/bags.h"

#include <map>

#include "store/database.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {
namespace {

void insert(Connection& db, const model::BagFile& file) {
  execute(db, "INSERT INTO bag_files VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", file.id, file.tenant_id,
          file.chat_id, file.run_id, file.name, file.type, file.size_bytes, file.sha256, file.source, file.created_at,
          file.deleted_at);
}

int64_t number_of(Connection& db, std::string_view sql, const auto& value) {
  return find_number(db, sql, value).value_or(0);
}

std::optional<model::BagFile> find(Connection& db, model::TenantId tenant, model::FileId id) {
  return find_row<model::BagFile>(db, "SELECT * FROM bag_files WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL",
                                  id, tenant);
}

}  // namespace

void create_bag_files(Database& database, std::vector<model::BagFile> made, int64_t tenant_bytes_max,
                      Done<BagOutcome> done) {
  const auto whose = made.empty() ? model::TenantId{} : made.front().tenant_id;
  database.write(whose, std::move(done),
                 [made = std::move(made), tenant_bytes_max](Connection& db) -> Result<BagOutcome> {
                   if (made.empty()) return BagOutcome::kept;
                   const auto tenant = made.front().tenant_id;
                   if (!has_tenant(db, tenant)) return no_such("tenant");
                   int64_t bytes = number_of(db,
                                             "SELECT CAST(coalesce(sum(size_bytes), 0) AS BIGINT) FROM bag_files WHERE "
                                             "tenant_id = ? AND deleted_at IS NULL",
                                             tenant);
                   std::map<model::ConversationId, int64_t> counts;
                   for (const auto& file : made) {
                     if (find_number(db, "SELECT number FROM bag_files WHERE id = ?", file.id)) {
                       return Error{ErrorKind::conflict, "there is such a file already"};
                     }
                     bytes += file.size_bytes;
                     if (file.chat_id) ++counts[*file.chat_id];
                   }
                   for (const auto& [id, count] : counts) {
                     const auto chat = sql::conversation(db, tenant, id);
                     if (!chat) return no_such("chat");
                     if (chat.value().status == model::ConversationStatus::archived) return BagOutcome::chat_archived;
                     const int64_t there =
                         number_of(db, "SELECT count(*) FROM bag_files WHERE chat_id = ? AND deleted_at IS NULL", id);
                     if (there + count > static_cast<int64_t>(limits::bag_files_max)) return BagOutcome::chat_full;
                   }
                   if (bytes > tenant_bytes_max) return BagOutcome::tenant_full;
                   for (const auto& file : made) insert(db, file);
                   return BagOutcome::kept;
                 });
}

void bag_file(Database& database, model::TenantId tenant, model::FileId id, Done<model::BagFile> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::BagFile> {
    auto file = find(db, tenant, id);
    if (!file) return no_such("file");
    return *std::move(file);
  });
}

void bag_files(Database& database, model::TenantId tenant, std::optional<model::ConversationId> chat,
               PageQuery<model::FileId> query, Done<Page<model::BagFile>> done) {
  database.read(tenant, std::move(done), [tenant, chat, query](Connection& db) -> Result<Page<model::BagFile>> {
    if (!has_tenant(db, tenant)) return no_such("tenant");
    std::optional<int64_t> cursor;
    if (const auto& id = cursor_of(query)) {
      cursor = find_number(db, "SELECT number FROM bag_files WHERE id = ? AND tenant_id = ?", *id, tenant);
      if (!cursor) return no_such("file to go on from");
    }
    const auto walk = Walk::of(query, Order::ascending);
    const auto read = [](Query& row) {
      model::BagFile file;
      read_row(row, file);
      return file;
    };
    constexpr std::string_view of_tenant = "SELECT * FROM bag_files WHERE tenant_id = ?1 AND deleted_at IS NULL";
    if (!chat) return page_by_number<model::BagFile>(db, of_tenant, "number", tenant, cursor, query.limit, walk, read);
    constexpr std::string_view of_chat =
        "SELECT * FROM bag_files WHERE tenant_id = ?1 AND chat_id = ?4 AND deleted_at IS NULL";
    return page_by_number<model::BagFile>(db, of_chat, "number", tenant, cursor, query.limit, walk, read, *chat);
  });
}

void remove_bag_file(Database& database, model::TenantId tenant, model::FileId id, Timestamp at, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id, at](Connection& db) -> Result<Unit> {
    execute(db, "UPDATE bag_files SET deleted_at = ? WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL", at, id,
            tenant);
    if (db.change_count() == 0) return no_such("file");
    return Unit{};
  });
}

// ── parts of other transactions ──

void sql::keep_in_bag(Connection& db, const model::RunFile& file) {
  auto run_id = file.run_id;
  if (file.execution_id) {
    Query execution(db, "SELECT run_id FROM executions WHERE id = ?", *file.execution_id);
    if (execution.next()) execution.read(run_id);
  }
  if (!run_id) return;
  const auto run = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ?", *run_id);
  if (!run) return;
  const auto chat = find_row<model::Conversation>(db, "SELECT * FROM conversations WHERE id = ? AND kind = 'chat'",
                                                  run->conversation_id);
  if (chat) insert(db, bag_file_of(file, *run, *chat));
}

void sql::join_bag(Connection& db, model::TenantId tenant, model::ConversationId chat,
                   const std::vector<model::FileId>& ids) {
  for (const auto id : ids) {
    execute(db,
            "UPDATE bag_files SET chat_id = ? WHERE id = ? AND tenant_id = ? AND chat_id IS NULL AND "
            "deleted_at IS NULL",
            chat, id, tenant);
  }
}

void sql::drop_bag(Connection& db, model::ConversationId chat, Timestamp at) {
  execute(db, "UPDATE bag_files SET deleted_at = ? WHERE chat_id = ? AND deleted_at IS NULL", at, chat);
}

}  // namespace sluice::store
