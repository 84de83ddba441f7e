// AG-UI names in SQL. As in sql_records.h, each function is one operation; those at the end are parts of others.
#pragma once

#include "store/sql_connection.h"
#include "store/store.h"

namespace sluice::store::sql {

Result<model::ConversationId> thread(Connection& db, model::TenantId tenant, const std::string& thread_id);
Result<std::optional<std::string>> thread_of(Connection& db, model::ConversationId conversation);
Result<AguiRun> agui_run(Connection& db, model::TenantId tenant, const std::string& thread_id,
                         const std::string& run_id);
Result<AguiRun> agui_run_named(Connection& db, model::TenantId tenant, const std::string& run_id);
Result<std::vector<AguiRun>> agui_runs_of(Connection& db, model::RunId run);

// What a message's row has for a status once it was replaced; its JSON stays as it was.
inline constexpr std::string_view replaced_status = "replaced";
// From that message of the conversation on; nothing where it is none of it.
void replace_from(Connection& db, int64_t conversation, const std::optional<model::MessageId>& first);

// Why the names cannot be kept; empty when they can, or there are none.
std::optional<Error> refusal_of_names(Connection& db, const std::optional<AguiRun>& names);
void keep_names(Connection& db, const std::optional<AguiRun>& names);

}  // namespace sluice::store::sql
