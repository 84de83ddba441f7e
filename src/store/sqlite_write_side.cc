#include "store/sqlite_write_side.h"

#include "store/sqlite_schema.h"

namespace sluice::store {

namespace {

// The write-ahead log is emptied when it has grown by this many frames of 4 KiB since the last time;
// by fewer when nobody waits; and past the last figure even if readers must be waited for.
constexpr int busy_frame_count = 4'000;
constexpr int idle_frame_count = 1'000;
constexpr int frame_count_max = 40'000;

}  // namespace

Result<std::unique_ptr<SqliteWriteSide>> SqliteWriteSide::open(SqliteWriting options) {
  std::unique_ptr<SqliteWriteSide> side(new SqliteWriteSide(std::move(options)));
  if (const auto opened = side->reopen(); !opened) return opened.error();
  return side;
}

Result<Unit> SqliteWriteSide::reopen() {
  db_.reset();
  auto opened = SqliteConnection::open(options_.path, SqliteConnection::Mode::writer);
  if (!opened) return opened.error();
  auto& db = *opened.value();
  if (const auto migrated = migrate(db); !migrated) return migrated.error();
  if (options_.page_count_max_for_test > 0) {
    db.run(("PRAGMA max_page_count = " + std::to_string(options_.page_count_max_for_test)).c_str());
  }
  open_runs_.load(db);
  if (db.failure()) return error_of(*db.failure());
  db_ = std::move(opened).take();
  is_synchronous_full_ = true;
  checkpointed_frame_count_ = 0;
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
  // Fewer than last time: the log was begun anew since.
  if (frame_count < checkpointed_frame_count_) checkpointed_frame_count_ = 0;
  if (frame_count - checkpointed_frame_count_ < (idle ? idle_frame_count : busy_frame_count)) return std::nullopt;
  db_->checkpoint(frame_count > frame_count_max ? SqliteConnection::Wait::for_readers : SqliteConnection::Wait::no);
  checkpointed_frame_count_ = frame_count;
  const auto failure = db_->take_failure();
  // What is committed is safe in the log either way, and a full disk may have room next time.
  if (!failure || failure->trouble == Trouble::full) return std::nullopt;
  return "checkpoint: " + failure->what;
}

}  // namespace sluice::store
