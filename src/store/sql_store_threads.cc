// How a SqlStore does what store/threads.h asks for: each operation on its thread.
#include "store/sql_store.h"
#include "store/sql_threads.h"

namespace sluice::store {

void SqlStore::thread(model::TenantId tenant, std::string thread_id, Done<model::ConversationId> done) {
  read(tenant, std::move(done),
       [tenant, thread_id = std::move(thread_id)](Connection& db) { return sql::thread(db, tenant, thread_id); });
}

void SqlStore::thread_of(model::ConversationId conversation, Done<std::optional<std::string>> done) {
  read(conversation, std::move(done), [conversation](Connection& db) { return sql::thread_of(db, conversation); });
}

void SqlStore::agui_run(model::TenantId tenant, std::string thread_id, std::string run_id, Done<AguiRun> done) {
  read(tenant, std::move(done), [tenant, thread_id = std::move(thread_id), run_id = std::move(run_id)](Connection& db) {
    return sql::agui_run(db, tenant, thread_id, run_id);
  });
}

void SqlStore::agui_run_named(model::TenantId tenant, std::string run_id, Done<AguiRun> done) {
  read(tenant, std::move(done),
       [tenant, run_id = std::move(run_id)](Connection& db) { return sql::agui_run_named(db, tenant, run_id); });
}

void SqlStore::agui_runs_of(model::RunId run, Done<std::vector<AguiRun>> done) {
  read(run, std::move(done), [run](Connection& db) { return sql::agui_runs_of(db, run); });
}

}  // namespace sluice::store
