// The tables (docs/formats/store.md) and the steps that lead to them.
#pragma once

#include "store/sqlite_connection.h"

namespace sluice::store {

// Brings the database to the schema of this program, a step a transaction. `invalid` when it is
// somebody else's, or newer than this program.
Result<Unit> migrate(Connection& db);

}  // namespace sluice::store
