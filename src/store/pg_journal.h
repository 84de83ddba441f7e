// Journals in PostgreSQL, read back, and what else of the runs is read there. Each function is one
// operation, inside a transaction of its caller's.
#pragma once

#include "store/sql_journal.h"

namespace sluice::store::pg {

// One that is not sealed, some rows at a time: an answer is in memory as a whole.
class OpenJournalReader final : public sql::JournalReader {
 public:
  OpenJournalReader(Connection& db, int64_t run, model::Position after) : db_(db), run_(run), asked_(after) {}
  Result<sql::JournalRow> next() override;

 private:
  struct Row {
    model::Position last;
    std::string batch;
  };
  void fetch();

  Connection& db_;
  int64_t run_;
  model::Position asked_;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
  bool is_end_ = false;
};

Result<sql::JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run, model::Position after,
                                  std::size_t bytes_max);
Result<UnfinishedRuns> unfinished_runs(Connection& db);
Result<std::vector<model::RunId>> carried_runs(Connection& db, model::NodeId node);

}  // namespace sluice::store::pg
