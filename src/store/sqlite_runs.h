// Runs and their journals in a SQLite database that one server uses. Each function is one
// operation.
#pragma once

#include "store/open_runs.h"
#include "store/sql_journal.h"
#include "store/store.h"

namespace sluice::store::sql {

// An Accepted has no events yet: they are committed only after this.
Result<AcceptOutcome> accept(Connection& db, OpenRuns& open_runs, const NewRun& made);
// The number of the journal's new row; 0 when there was nothing to keep.
Result<int64_t> append(Connection& db, OpenRuns& open_runs, const Append& append);
struct Takeover {
  model::Epoch seen;
  model::NodeId by;
};
Result<model::Run> take_over(Connection& db, OpenRuns& open_runs, model::RunId run, const Takeover& takeover);
// Nodes::claim(): those of these runs that wait on another node at that epoch, in the order of their acceptance.
Result<std::vector<model::Run>> claim(Connection& db, OpenRuns& open_runs, const std::vector<HeldRun>& wanted,
                                      model::NodeId by);

// Where the journal of a run is that was not over just now: its head, and the rows that a page may need.
struct KnownRows {
  model::Position head;
  JournalRows rows;
};
KnownRows rows_for_page(const JournalRows& rows, model::Position after, std::size_t bytes_max);
// `known` for the same page, if the caller knows it.
Result<JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run,
                             const std::optional<KnownRows>& known, model::Position after, std::size_t bytes_max);

Result<std::vector<model::Run>> unfinished_runs(Connection& db, const OpenRuns& open_runs);
// Of them, those that are `node`'s; all of them, if servers are not told apart.
Result<std::vector<model::RunId>> carried_runs(Connection& db, model::NodeId node);

}  // namespace sluice::store::sql
