// AG-UI clients' names for conversations and runs. Part of the store's public header: errors, threads and transactions
// are those of journal/journal.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// A thread is made by the first accept() or append() that names it, and belongs to that conversation for ever, as the
// conversation to it. A call that names another thread than the conversation's, or an AG-UI run which the thread has,
// is `invalid`: asked again with another name it may work, unlike one that was fenced out (`conflict`). `not_found`
// when the tenant has no such thread.
void thread(Database& database, model::TenantId tenant, std::string thread_id, Done<model::ConversationId> done);
// The thread that a conversation belongs to; empty when it has none.
void thread_of(Database& database, model::ConversationId conversation, Done<std::optional<std::string>> done);
// `not_found` when the thread has no such run.
void agui_run(Database& database, model::TenantId tenant, std::string thread_id, std::string run_id,
              Done<AguiRun> done);
// By the run's name alone, for clients that reconnect without the thread's: the newest of that name.
void agui_run_named(Database& database, model::TenantId tenant, std::string run_id, Done<AguiRun> done);
// Of one run of ours, in the order of their segments; runs that no AG-UI client started have none.
void agui_runs_of(Database& database, model::RunId run, Done<std::vector<AguiRun>> done);

}  // namespace sluice::store
