// Journals in PostgreSQL, read back and sealed, and what else of the runs is read there. Each function is one
// operation, inside a transaction of its caller's.
#pragma once

#include "store/sql_journal.h"

namespace sluice::store::pg {

Result<sql::JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run, model::Position after,
                                  std::size_t bytes_max);
Result<UnfinishedRuns> unfinished_runs(Connection& db);
Result<std::vector<model::RunId>> carried_runs(Connection& db, model::NodeId node);

// Seals finished journals and drops old keys, a bounded amount of both; how many were sealed. Nothing while another
// server does it. Needs no other lock: nobody else touches the journal of a run that is over.
Result<int> tidy_up(Connection& db, Timestamp now);

// Nobody else is given the same for a minute.
Result<std::vector<DueNotice>> due_notices(Connection& db, Timestamp now, int limit);

}  // namespace sluice::store::pg
