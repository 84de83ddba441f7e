#include "store/threads.h"

#include "store/database.h"
#include "store/on_disk.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

std::optional<model::ConversationId> conversation_of(Connection& db, model::TenantId tenant,
                                                     const std::string& thread_id) {
  Query query(db, "SELECT conversation_id FROM threads WHERE tenant_id = ? AND thread_id = ?", tenant, thread_id);
  if (!query.next()) return std::nullopt;
  model::ConversationId conversation;
  query.read(conversation);
  return conversation;
}

std::optional<std::string> thread_id_of(Connection& db, model::ConversationId conversation) {
  Query query(db, "SELECT thread_id FROM threads WHERE conversation_id = ?", conversation);
  if (!query.next()) return std::nullopt;
  std::string thread_id;
  query.read(thread_id);
  return thread_id;
}

std::optional<AguiRun> find_run(Connection& db, model::TenantId tenant, const std::string& thread_id,
                                const std::string& run_id) {
  return find_row<AguiRun>(db, "SELECT * FROM agui_runs WHERE tenant_id = ? AND thread_id = ? AND run_id = ?", tenant,
                           thread_id, run_id);
}

}  // namespace

void thread(Database& database, model::TenantId tenant, std::string thread_id, Done<model::ConversationId> done) {
  database.read(tenant, std::move(done),
                [tenant, thread_id = std::move(thread_id)](Connection& db) -> Result<model::ConversationId> {
                  const auto found = conversation_of(db, tenant, thread_id);
                  if (!found) return no_such("thread");
                  return *found;
                });
}

void thread_of(Database& database, model::ConversationId conversation, Done<std::optional<std::string>> done) {
  database.read(conversation, std::move(done), [conversation](Connection& db) -> Result<std::optional<std::string>> {
    return thread_id_of(db, conversation);
  });
}

void agui_run(Database& database, model::TenantId tenant, std::string thread_id, std::string run_id,
              Done<AguiRun> done) {
  database.read(
      tenant, std::move(done),
      [tenant, thread_id = std::move(thread_id), run_id = std::move(run_id)](Connection& db) -> Result<AguiRun> {
        auto found = find_run(db, tenant, thread_id, run_id);
        if (!found) return no_such("AG-UI run");
        return *std::move(found);
      });
}

void agui_run_named(Database& database, model::TenantId tenant, std::string run_id, Done<AguiRun> done) {
  database.read(tenant, std::move(done), [tenant, run_id = std::move(run_id)](Connection& db) -> Result<AguiRun> {
    auto found = find_row<AguiRun>(
        db, "SELECT * FROM agui_runs WHERE tenant_id = ? AND run_id = ? ORDER BY number DESC LIMIT 1", tenant, run_id);
    if (!found) return no_such("AG-UI run");
    return *std::move(found);
  });
}

void agui_runs_of(Database& database, model::RunId run, Done<std::vector<AguiRun>> done) {
  database.read(run, std::move(done), [run](Connection& db) -> Result<std::vector<AguiRun>> {
    Query query(db, "SELECT * FROM agui_runs WHERE run = ? ORDER BY segment", run);
    std::vector<AguiRun> found;
    while (query.next()) read_row(query, found.emplace_back());
    return found;
  });
}

// One that failed is no history as it is.
void sql::replace_from(Connection& db, int64_t conversation, const std::optional<model::MessageId>& first) {
  if (!first) return;
  execute(db,
          "UPDATE messages SET status = ? WHERE conversation = ? AND status = 'completed' AND number >= "
          "(SELECT number FROM messages WHERE id = ? AND conversation = ?)",
          std::string(replaced_status), conversation, *first, conversation);
}

std::optional<Error> sql::refusal_of_names(Connection& db, const std::optional<AguiRun>& names) {
  if (!names) return std::nullopt;
  return refusal(*names, {.conversation = conversation_of(db, names->tenant_id, names->thread_id),
                          .thread = thread_id_of(db, names->conversation_id),
                          .has_run = find_run(db, names->tenant_id, names->thread_id, names->run_id).has_value()});
}

void sql::keep_names(Connection& db, const std::optional<AguiRun>& names) {
  if (!names) return;
  execute(db, "INSERT INTO threads VALUES (NULL, ?, ?, ?) ON CONFLICT DO NOTHING", names->tenant_id, names->thread_id,
          names->conversation_id);
  execute(db, "INSERT INTO agui_runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", names->tenant_id, names->thread_id,
          names->run_id, names->conversation_id, names->run, names->segment);
}

}  // namespace sluice::store
