// Journals in SQLite, read back, whether they are sealed, not yet, or in part.
#include <algorithm>
#include <memory>

#include "store/sql_parts.h"
#include "store/sql_rows.h"
#include "store/sqlite_runs.h"

namespace sluice::store::sql {

namespace {

Result<std::string> batch_of(Connection& db, int64_t run, int64_t row) {
  Query query(db, "SELECT batch FROM journal WHERE number = ? AND run = ?", row, run);
  if (!query.next()) return Error{ErrorKind::corrupt, "a row is missing"};
  std::string batch;
  query.read(batch);
  return batch;
}

class OpenJournalReader final : public JournalReader {
 public:
  OpenJournalReader(Connection& db, int64_t run, std::vector<JournalRows::Row> rows)
      : db_(db), run_(run), rows_(std::move(rows)) {}

  Result<JournalRow> next() override {
    if (at_ == rows_.size()) return JournalRow();
    const auto& row = rows_[at_++];
    auto batch = batch_of(db_, run_, row.number);
    if (!batch) return batch.error();
    return UnpackedRow::from(std::move(batch).take(), row.last);
  }

 private:
  Connection& db_;
  int64_t run_;
  std::vector<JournalRows::Row> rows_;
  std::size_t at_ = 0;
};

// A run as its row has it, and where its journal is; no rows when it is sealed.
struct Located {
  model::Run run;
  int64_t number = 0;
  std::optional<JournalRows> rows;
};

// Rows that were written since the run's own row was; without an index, so only for runs that this
// server does not carry on.
void find_later_rows(Connection& db, Located& located) {
  Query query(db, "SELECT number, last FROM journal WHERE number > ? AND run = ? ORDER BY number",
              located.rows->last_number(), located.number);
  while (query.next()) {
    int64_t number = 0;
    model::Position last;
    query.read(number, last);
    if (last > located.rows->head()) located.rows->add(number, last.value - located.rows->head().value);
  }
}

Result<Located> locate(Connection& db, model::RunId run, const std::optional<KnownRows>& known) {
  Located located;
  std::optional<std::string> rows;
  {
    Query query(db, "SELECT * FROM runs WHERE id = ?", run);
    if (!query.next()) return no_such("run");
    int64_t conversation = 0;
    int64_t message = 0;
    located.number = read_row(query, located.run);
    query.read(conversation, message, rows);
  }
  if (!rows) return located;
  located.rows = JournalRows::from_bytes(*rows);
  if (!located.rows) return Error{ErrorKind::corrupt, "the list of its rows is damaged"};
  if (model::is_over(located.run.state)) return located;
  if (known) {
    located.rows = known->rows;
    located.run.head = known->head;
  } else {
    find_later_rows(db, located);
    located.run.head = located.rows->head();
  }
  return located;
}

std::unique_ptr<JournalReader> reader_of(Connection& db, const Located& located, model::Position after) {
  if (!located.rows) return std::make_unique<SealedJournalReader>(db, located.number, after);
  const auto open_after = [&db, &located](model::Position from) -> std::unique_ptr<JournalReader> {
    return std::make_unique<OpenJournalReader>(db, located.number, located.rows->rows_after(from));
  };
  if (!model::is_over(located.run.state)) return open_after(after);
  return std::make_unique<HalfSealedReader<decltype(open_after)>>(db, located.number, after, open_after);
}

}  // namespace

// A row has an event at least, so there are no more rows in a page than events.
KnownRows rows_for_page(const JournalRows& rows, model::Position after, std::size_t bytes_max) {
  return {rows.head(), rows.part_after(after, bytes_max / limits::journal_event_overhead_bytes + 1)};
}

Result<JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run,
                             const std::optional<KnownRows>& known, model::Position after, std::size_t bytes_max) {
  const auto located = locate(db, run, known);
  if (!located && located.error().kind == ErrorKind::corrupt) return corrupt_journal(located.error(), run);
  if (!located) return located.error();
  JournalSlice slice{located.value().run, {after.value + 1}, {}};
  return fill_page(std::move(slice), unpacked, bytes_max,
                   [&](model::Position from) { return reader_of(db, located.value(), from); });
}

}  // namespace sluice::store::sql
