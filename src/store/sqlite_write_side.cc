#include "store/sqlite_write_side.h"

#include "store/sqlite_schema.h"

namespace sluice::store {

SqliteWriteSide::SqliteWriteSide(SqliteWriting options, world::Metrics& metrics)
    : options_(std::move(options)),
      log_pace_(options_.log),
      log_bytes_(metrics.gauge("sluice_store_log_bytes", "What is in SQLite's write-ahead log.")),
      log_waits_(metrics.counter("sluice_store_log_waits_total",
                                 "Times that the writer waited for readers, so that its log could begin anew.")) {}

Result<std::unique_ptr<SqliteWriteSide>> SqliteWriteSide::open(SqliteWriting options, world::Metrics& metrics) {
  std::unique_ptr<SqliteWriteSide> side(new SqliteWriteSide(std::move(options), metrics));
  if (const auto opened = side->reopen(); !opened) return opened.error();
  return side;
}

Result<Unit> SqliteWriteSide::reopen() {
  db_.reset();
  auto opened = SqliteConnection::open(options_.path, SqliteConnection::Mode::writer);
  if (!opened) return opened.error();
  auto& db = *opened.value();
  db.settle();
  if (db.failure()) return error_of(*db.failure());
  if (const auto migrated = migrate(db); !migrated) return migrated.error();
  if (options_.page_count_max_for_test > 0) {
    db.run(("PRAGMA max_page_count = " + std::to_string(options_.page_count_max_for_test)).c_str());
  }
  open_runs_.load(db);
  if (db.failure()) return error_of(*db.failure());
  db_ = std::move(opened).take();
  is_synchronous_full_ = true;
  return Unit{};
}

void SqliteWriteSide::begin(Work::Class wanted) {
  choose_synchronous(options_.strict || wanted == Work::Class::boundary);
  db_->begin_writing();
}

void SqliteWriteSide::ended(bool committed) {
  if (committed) {
    open_runs_.keep_changes();
  } else {
    open_runs_.undo_changes();
  }
}

// FULL syncs the log at each commit, and with it what earlier commits left unsynced; NORMAL leaves
// that to the kernel.
void SqliteWriteSide::choose_synchronous(bool full) {
  if (full == is_synchronous_full_) return;
  db_->run(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  is_synchronous_full_ = full;
}

std::optional<std::string> SqliteWriteSide::rest(bool idle) {
  const int frame_count = db_->wal_frame_count();
  log_bytes_.set(int64_t{frame_count} * log_frame_bytes);
  if (!log_pace_.is_due(frame_count, idle)) return std::nullopt;
  const int moved = db_->checkpoint(SqliteConnection::Wait::no).frame_count;
  if (!db_->failure() && log_pace_.should_wait(frame_count, moved)) {
    log_waits_.add();
    if (!db_->checkpoint(SqliteConnection::Wait::for_readers).begins_anew) log_pace_.waited_in_vain(moved);
  }
  const auto failure = db_->take_failure();
  // What is committed is safe in the log either way, and a full disk may have room next time.
  if (!failure || failure->trouble == Trouble::full) return std::nullopt;
  return "checkpoint: " + failure->what;
}

}  // namespace sluice::store
