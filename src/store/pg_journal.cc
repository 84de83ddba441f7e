#include "store/pg_journal.h"

#include "base/notice_limits.h"
#include "store/pg_group.h"
#include "store/pg_schema.h"
#include "store/sql_rows.h"

namespace sluice::store::pg {

Result<sql::JournalRow> OpenJournalReader::next() {
  if (at_ == rows_.size() && !is_end_) fetch();
  if (at_ == rows_.size()) return sql::JournalRow();
  auto& [last, batch] = rows_[at_++];
  return UnpackedRow::from(std::move(batch), last);
}

// Bytes are counted without being read, and the first row is taken however large it is.
void OpenJournalReader::fetch() {
  constexpr int rows_max = 64;
  constexpr int64_t bytes_max = int64_t{1024} * 1024;
  Query query(db_,
              "SELECT last, batch FROM (SELECT last, batch, sum(octet_length(batch)) OVER (ORDER BY last) - "
              "octet_length(batch) AS bytes_before FROM (SELECT last, batch FROM journal WHERE run = ?1 AND last > ?2 "
              "ORDER BY last LIMIT ?3) AS next) AS counted WHERE bytes_before < ?4 ORDER BY last",
              run_, asked_.value, rows_max, bytes_max);
  rows_.clear();
  at_ = 0;
  while (query.next()) {
    auto& row = rows_.emplace_back();
    query.read(row.last, row.batch);
    asked_ = row.last;
  }
  is_end_ = rows_.empty();
}

Result<sql::JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run, model::Position after,
                                  std::size_t bytes_max) {
  sql::JournalSlice slice{{}, {after.value + 1}, {}};
  int64_t number = 0;
  bool is_sealed = false;
  {
    Query query(db,
                "SELECT r.number, " + std::string(run_columns) +
                    ", r.sealed FROM runs r LEFT JOIN heads h ON h.run = r.number WHERE r.id = ?",
                run);
    if (!query.next()) return no_such("run");
    number = read_row(query, slice.run);
    query.read(is_sealed);
  }
  const bool is_over = model::is_over(slice.run.state);
  const auto open_after = [&db, number](model::Position from) -> std::unique_ptr<sql::JournalReader> {
    return std::make_unique<OpenJournalReader>(db, number, from);
  };
  return sql::fill_page(
      std::move(slice), unpacked, bytes_max, [&](model::Position from) -> std::unique_ptr<sql::JournalReader> {
        if (is_sealed) return std::make_unique<sql::SealedJournalReader>(db, number, from);
        if (!is_over) return open_after(from);
        return std::make_unique<sql::HalfSealedReader<decltype(open_after)>>(db, number, from, open_after);
      });
}

Result<UnfinishedRuns> unfinished_runs(Connection& db) {
  UnfinishedRuns found;
  {
    Query query(db, "SELECT r.number, " + std::string(run_columns) +
                        " FROM heads h JOIN runs r ON r.number = h.run ORDER BY r.number");
    while (query.next()) read_row(query, found.runs.emplace_back());
  }
  found.now.ms = find_number(db, "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)").value_or(0);
  return found;
}

Result<std::vector<model::RunId>> carried_runs(Connection& db, model::NodeId node) {
  Query query(db, "SELECT id FROM heads WHERE node = ? OR node NOT IN (SELECT id FROM nodes) ORDER BY run", node);
  std::vector<model::RunId> found;
  while (query.next()) query.read(found.emplace_back());
  return found;
}

}  // namespace sluice::store::pg
