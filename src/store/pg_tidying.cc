#include "store/pg_tidying.h"

#include "store/pg_journal.h"
#include "store/pg_schema.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

constexpr std::string_view is_unsealed = "sealed = 0";

// All that there is room for of one journal; whether it could be read.
bool pack_rows(Connection& db, Packing& packing, int64_t run, model::Position from) {
  pg::OpenJournalReader reader(db, run, from);
  for (;;) {
    const auto row = reader.next();
    if (!row || db.failure()) return false;
    if (row.value() == nullptr) return packing.end(true), true;
    if (packing.is_full()) return packing.end(false), true;
    if (!packing.add(row.value()->batch(), row.value()->last())) return false;
  }
}

}  // namespace

void PgTidySide::make_plan(Connection& db, Timestamp now, TidyPlan& plan) const {
  measure(db, now, is_unsealed, plan);
  Packing packing(plan);
  // Held until this transaction ends, so that servers do not pack the same journals at the same time.
  if (!may_tidy(db)) return;
  for (const auto run : runs_to_seal(db, is_unsealed, plan)) {
    if (packing.is_full() || db.failure()) break;
    const auto from = sql::sealed_upto(db, run);
    packing.begin(run, from);
    if (!pack_rows(db, packing, run, from)) packing.give_up(db);
  }
}

bool PgTidySide::may_tidy(Connection& db) const {
  return find_number(db, "SELECT CAST(pg_try_advisory_xact_lock(?) AS int)", static_cast<int64_t>(PgLock::tidying))
             .value_or(0) != 0;
}

// A server whose clock is a day ahead must not drop the keys of all.
Timestamp PgTidySide::now_of_keys(Connection& db, Timestamp now) const {
  return {find_number(db, "SELECT " + std::string(database_now_ms)).value_or(now.ms)};
}

bool PgTidySide::move(Connection& db, const PackedPart& part) const {
  const auto waiting =
      find_number(db, "SELECT number FROM runs WHERE number = ? AND ended_at IS NOT NULL AND sealed = 0", part.run);
  if (!waiting || sql::sealed_upto(db, part.run) != part.from) return false;
  for (const auto& row : part.sealed) {
    execute(db, "INSERT INTO sealed_journals (run, last, batch_zstd) VALUES (?, ?, ?)", part.run, row.last.value,
            Blob{row.batch_zstd});
  }
  execute(db, "DELETE FROM journal WHERE run = ? AND last <= ?", part.run, part.upto.value);
  if (part.completes) execute(db, "UPDATE runs SET sealed = 1 WHERE number = ?", part.run);
  return true;
}

}  // namespace sluice::store
