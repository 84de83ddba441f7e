// Makes sure that what a SQLite database says is on the disk, is.
//
// After a failed fsync the kernel takes the pages that it could not write for clean: they are read from memory as if
// nothing were wrong, and no later fsync writes them. So a database that was opened again after a failure may read
// commits from its log of which the disk knows nothing. To add to such a log is how confirmed messages are lost: a log
// is good up to the first frame that is not there, and a power cut takes all commits after it along. The same is true
// of database pages: SQLite notes how far it has moved its log, syncs when all of it was moved, and does not move again
// what came before its note.
//
// Therefore, before anything is written, the log is written over itself, byte by byte, and so are the pages of the
// database that the log has: only pages that were written can be missing on the disk, and those of a log that began
// anew since were synced before it did. That makes them dirty, and the fsync after it tells the truth. This holds
// because
//   - what is read here is what every reader takes the database to be, from memory or from the disk: nothing is
//   changed;
//   - nobody else writes to either file meanwhile: adding to the log and beginning it anew need the lock of the writer,
//     moving it into the database needs the lock of the checkpoint (https://sqlite.org/walformat.html), and both are
//     held;
//   - a power cut in between finds each sector as it was or as it shall be, which are the same but where it was lost;
//   - the log comes first: with it on the disk, a page is repaired from it, whatever became of the page.
// A checkpoint instead would not do. It writes pages of frames that the disk may not know, so a power cut halfway
// leaves a database of two times; and it leaves out what a reader is in the way of, and what was moved before.
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "store/sqlite_connection.h"

namespace sluice::store {

namespace {

constexpr int checkpoint_lock = 1;  // of the locks in the index of the log
constexpr int64_t log_header_bytes = 32;
constexpr int64_t frame_header_bytes = 24;
constexpr int64_t piece_bytes = int64_t{64} * 1024;  // SQLite's files take less than 128 KiB at once

using Bytes = std::vector<unsigned char>;

class DatabaseFile {
 public:
  explicit DatabaseFile(sqlite3_file* file) : file_(file) {}

  bool is_open() const { return file_ != nullptr && file_->pMethods != nullptr; }
  int64_t size() {
    sqlite3_int64 size = 0;
    if (is_fine()) code_ = file_->pMethods->xFileSize(file_, &size);
    return is_fine() ? size : 0;
  }
  Bytes read(int64_t offset, int64_t size) {
    Bytes bytes(static_cast<std::size_t>(size));
    if (is_fine()) code_ = file_->pMethods->xRead(file_, bytes.data(), static_cast<int>(size), offset);
    return bytes;
  }
  void write_again(int64_t offset, int64_t size) {
    const auto bytes = read(offset, size);
    if (is_fine()) code_ = file_->pMethods->xWrite(file_, bytes.data(), static_cast<int>(size), offset);
  }
  void sync() {
    if (is_fine()) code_ = file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL);
  }
  // Another process may hold it for a moment.
  bool lock_checkpoint() {
    constexpr int tries_max = 500;
    for (int tries = 0; tries < tries_max; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      code_ = file_->pMethods->xShmLock(file_, checkpoint_lock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
      if (code_ != SQLITE_BUSY) break;
    }
    return is_fine();
  }
  void unlock_checkpoint() {
    file_->pMethods->xShmLock(file_, checkpoint_lock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
  }
  int code() const { return code_; }

 private:
  bool is_fine() const { return code_ == SQLITE_OK; }

  sqlite3_file* file_;
  int code_ = SQLITE_OK;
};

int64_t number_at(const Bytes& bytes, std::size_t at) {
  return int64_t{bytes[at]} << 24 | int64_t{bytes[at + 1]} << 16 | int64_t{bytes[at + 2]} << 8 | int64_t{bytes[at + 3]};
}

// The numbers of the pages that a log has, those of earlier logs in the same file among them.
std::set<int64_t> pages_in(DatabaseFile& log, int64_t log_bytes, int64_t page_bytes) {
  std::set<int64_t> pages;
  for (int64_t at = log_header_bytes; at + frame_header_bytes + page_bytes <= log_bytes;
       at += frame_header_bytes + page_bytes) {
    pages.insert(number_at(log.read(at, frame_header_bytes), 0));
  }
  return pages;
}

int write_both_again(DatabaseFile log, DatabaseFile database) {
  const auto log_bytes = log.size();
  if (log_bytes <= log_header_bytes) return log.code();
  for (int64_t at = 0; at < log_bytes; at += piece_bytes) {
    log.write_again(at, std::min(piece_bytes, log_bytes - at));
  }
  log.sync();
  const auto page_bytes = number_at(log.read(0, log_header_bytes), 8);
  if (page_bytes < 512 || page_bytes > 65'536) return log.code();  // a log of nothing
  const auto pages = pages_in(log, log_bytes, page_bytes);
  const auto database_bytes = database.size();
  for (const auto page : pages) {
    const auto at = (page - 1) * page_bytes;
    if (at >= 0 && at + page_bytes <= database_bytes) database.write_again(at, page_bytes);
  }
  database.sync();
  return log.code() != SQLITE_OK ? log.code() : database.code();
}

}  // namespace

void SqliteConnection::settle() {
  begin_writing();
  if (failure()) return;
  sqlite3_file* log = nullptr;
  sqlite3_file* database = nullptr;
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &database);
  DatabaseFile locked(database);
  if (DatabaseFile(log).is_open() && locked.lock_checkpoint()) {
    if (const int code = write_both_again(DatabaseFile(log), DatabaseFile(database)); code != SQLITE_OK) {
      fail(code == SQLITE_FULL ? Trouble::full : Trouble::unknown,
           "the log cannot be written to the disk: " + std::string(sqlite3_errstr(code)));
    }
    locked.unlock_checkpoint();
  }
  if (locked.code() != SQLITE_OK) fail_with(locked.code());
  const auto failed = take_failure();
  run("ROLLBACK");
  if (failed) fail(failed->trouble, failed->what);
}

}  // namespace sluice::store
