// The records of runs in SQL. As in sql_records.h, each function is one operation.
#pragma once

#include "store/sql_connection.h"
#include "store/store.h"

namespace sluice::store::sql {

Result<model::Run> run(Connection& db, model::TenantId tenant, model::RunId id);
Result<model::Run> run_of_message(Connection& db, model::TenantId tenant, model::MessageId assistant_message);
Result<Page<model::Run>> runs(Connection& db, model::TenantId tenant, const RunFilter& filter,
                              const PageQuery<model::RunId>& query);

}  // namespace sluice::store::sql
