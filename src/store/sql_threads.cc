#include "store/sql_threads.h"

#include "store/patch.h"
#include "store/sql_rows.h"

namespace sluice::store::sql {

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

Result<model::ConversationId> thread(Connection& db, model::TenantId tenant, const std::string& thread_id) {
  const auto found = conversation_of(db, tenant, thread_id);
  if (!found) return no_such("thread");
  return *found;
}

Result<std::optional<std::string>> thread_of(Connection& db, model::ConversationId conversation) {
  return thread_id_of(db, conversation);
}

Result<AguiRun> agui_run(Connection& db, model::TenantId tenant, const std::string& thread_id,
                         const std::string& run_id) {
  auto found = find_run(db, tenant, thread_id, run_id);
  if (!found) return no_such("AG-UI run");
  return *std::move(found);
}

Result<AguiRun> agui_run_named(Connection& db, model::TenantId tenant, const std::string& run_id) {
  auto found = find_row<AguiRun>(
      db, "SELECT * FROM agui_runs WHERE tenant_id = ? AND run_id = ? ORDER BY number DESC LIMIT 1", tenant, run_id);
  if (!found) return no_such("AG-UI run");
  return *std::move(found);
}

Result<std::vector<AguiRun>> agui_runs_of(Connection& db, model::RunId run) {
  Query query(db, "SELECT * FROM agui_runs WHERE run = ? ORDER BY segment", run);
  std::vector<AguiRun> found;
  while (query.next()) read_row(query, found.emplace_back());
  return found;
}

// One that failed is no history as it is.
void replace_from(Connection& db, int64_t conversation, const std::optional<model::MessageId>& first) {
  if (!first) return;
  execute(db,
          "UPDATE messages SET status = ? WHERE conversation = ? AND status = 'completed' AND number >= "
          "(SELECT number FROM messages WHERE id = ? AND conversation = ?)",
          std::string(replaced_status), conversation, *first, conversation);
}

std::optional<Error> refusal_of_names(Connection& db, const std::optional<AguiRun>& names) {
  if (!names) return std::nullopt;
  return refusal(*names, {.conversation = conversation_of(db, names->tenant_id, names->thread_id),
                          .thread = thread_id_of(db, names->conversation_id),
                          .has_run = find_run(db, names->tenant_id, names->thread_id, names->run_id).has_value()});
}

void keep_names(Connection& db, const std::optional<AguiRun>& names) {
  if (!names) return;
  execute(db, "INSERT INTO threads VALUES (NULL, ?, ?, ?) ON CONFLICT DO NOTHING", names->tenant_id, names->thread_id,
          names->conversation_id);
  execute(db, "INSERT INTO agui_runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", names->tenant_id, names->thread_id,
          names->run_id, names->conversation_id, names->run, names->segment);
}

}  // namespace sluice::store::sql
