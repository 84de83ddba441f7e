#include "store/sqlite_tidying.h"

#include "store/journal_rows.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

constexpr std::string_view is_unsealed = "journal_rows IS NOT NULL";

std::optional<JournalRows> rows_of(Connection& db, int64_t run) {
  Query query(db, "SELECT journal_rows FROM runs WHERE number = ?", run);
  if (!query.next()) return std::nullopt;
  std::string list;
  query.read(list);
  return JournalRows::from_bytes(list);
}

// All that there is room for of one journal; whether it could be read.
bool pack_rows(Connection& db, Packing& packing, int64_t run, const std::vector<JournalRows::Row>& rows) {
  for (const auto& row : rows) {
    if (packing.is_full()) return packing.end(false), true;
    Query query(db, "SELECT batch FROM journal WHERE number = ? AND run = ?", row.number, run);
    if (!query.next()) return false;
    std::string batch;
    query.read(batch);
    if (db.failure() || !packing.add(batch, row.last, row.number)) return false;
  }
  packing.end(true);
  return true;
}

// The list of the rows after a position, as the run's row keeps it: the first of them counts all events up to its last.
std::string list_after(const JournalRows& rows, model::Position after) {
  JournalRows rest;
  for (const auto& row : rows.rows_after(after)) rest.add(row.number, row.last.value - rest.head().value);
  return rest.bytes();
}

void pack(Connection& db, Packing& packing, int64_t run, TidyPlan& plan) {
  const auto first_part = plan.parts.size();
  const auto from = sql::sealed_upto(db, run);
  packing.begin(run, from);
  const auto rows = rows_of(db, run);
  if (!rows || !pack_rows(db, packing, run, rows->rows_after(from))) {
    packing.give_up(db);
    // A page that cannot be read is this run's damage, and nobody else's.
    if (db.failure() && db.failure()->trouble == Trouble::corrupt) db.take_failure();
    return;
  }
  for (auto part = first_part; part < plan.parts.size(); ++part) {
    if (!plan.parts[part].completes) plan.parts[part].rest = list_after(*rows, plan.parts[part].upto);
  }
}

}  // namespace

void SqliteTidySide::make_plan(Connection& db, Timestamp now, TidyPlan& plan) const {
  measure(db, now, is_unsealed, plan);
  Packing packing(plan);
  for (const auto run : runs_to_seal(db, is_unsealed, plan)) {
    if (packing.is_full() || db.failure()) break;
    pack(db, packing, run, plan);
  }
}

bool SqliteTidySide::move(Connection& db, const PackedPart& part) const {
  const auto waiting = find_number(
      db, "SELECT number FROM runs WHERE number = ? AND ended_at IS NOT NULL AND journal_rows IS NOT NULL", part.run);
  if (!waiting || sql::sealed_upto(db, part.run) != part.from) return false;
  for (const auto& row : part.sealed) {
    execute(db, "INSERT INTO sealed_journals VALUES (NULL, ?, ?, ?)", part.run, row.last.value, Blob{row.batch_zstd});
  }
  for (const auto number : part.rows) execute(db, "DELETE FROM journal WHERE number = ?", number);
  if (part.completes) {
    execute(db, "UPDATE runs SET journal_rows = NULL WHERE number = ?", part.run);
  } else {
    execute(db, "UPDATE runs SET journal_rows = ? WHERE number = ?", Blob{part.rest}, part.run);
  }
  return true;
}

}  // namespace sluice::store
