// The tables in SQLite (docs/formats/store.md) and the steps that lead to them.
#pragma once

#include "store/sql_connection.h"

namespace sluice::store {

// Brings the database to the current schema, each step in a transaction of its own. `invalid` if the database belongs
// to another program, or to a newer version of this one.
Result<Unit> migrate(Connection& db);
// PRAGMA application_id of every database of this program, and PRAGMA user_version of one with the current schema.
int64_t application_mark();
int64_t schema_version();

}  // namespace sluice::store
