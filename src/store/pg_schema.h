// The tables in PostgreSQL (docs/formats/store.md), the steps that lead to them, and the locks that servers share.
#pragma once

#include <string_view>

#include "store/pg_session.h"

namespace sluice::store {

// Advisory locks, ours by their first four bytes ("SLUC").
//   records    exclusively by whatever reads before it writes, shared by what is fenced in its own statements
//   migration  by the one server that brings the database up to date
//   tidying    by the one that tidies up
//   chain      by a group of runs that adds to the audit chain, after its row locks: servers that share `records` would
//              otherwise give two entries the same number
enum class PgLock : int64_t {
  records = 0x534C554300000001,
  migration = 0x534C554300000002,
  tidying = 0x534C554300000003,
  chain = 0x534C554300000004,
};

// The database's clock, which all servers share: milliseconds since 1970.
inline constexpr std::string_view database_now_ms = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";

// Brings the database to the schema of this program, a step a transaction; of several that come at once, one does it
// and the others wait. `invalid` when it is somebody else's, or newer than this program.
Result<Unit> migrate(PgSession& session);

}  // namespace sluice::store
