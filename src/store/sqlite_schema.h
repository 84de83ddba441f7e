// The tables (docs/formats/store.md) and the steps that lead to them.
#pragma once

#include "store/sql_connection.h"

namespace sluice::store {

// Brings the database to the schema of this program, a step a transaction. `invalid` when it is
// somebody else's, or newer than this program.
Result<Unit> migrate(Connection& db);
// PRAGMA application_id of our databases, and PRAGMA user_version of one that is as this program wants it.
int64_t application_mark();
int64_t schema_version();

}  // namespace sluice::store
