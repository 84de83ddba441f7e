#include "store/upkeep/sqlite_raw_target.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "store/file_lock.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_schema.h"
#include "store/upkeep/sqlite_raw_source.h"

namespace sluice::store {
namespace {

constexpr std::array side_files = {"-wal", "-shm", "-journal"};

// Is there nothing to lose? A server that was only started once has a tenant already.
Result<Unit> check_empty(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0 || about.st_size == 0) return Unit{};
  auto source = SqliteRawSource::open(path);
  if (!source) return source.error();
  for (const auto& table : catalogue()) {
    bool has_rows = false;
    auto done = source.value()->read("SELECT 1 FROM " + table.name + " LIMIT 1", {}, [&](const RawRow&) {
      has_rows = true;
      return false;
    });
    if (!done) return done;
    if (has_rows) {
      return Error{ErrorKind::conflict, "the store " + path + " is not empty (it has " + table.name +
                                            "); nothing is written over it: choose another place, or remove it"};
    }
  }
  return Unit{};
}

bool is_on_disk(const std::string& path, int flags) {
  const OwnedFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  return fd && fsync(fd.get()) == 0;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::unique_ptr<SqliteRawTarget>> SqliteRawTarget::open(const std::string& path) {
  auto lock = lock_database(path);
  if (!lock) return std::move(lock.error()).in("import into " + path);
  if (auto empty = check_empty(path); !empty) return empty.error();
  std::unique_ptr<SqliteRawTarget> target(new SqliteRawTarget(path, std::move(lock).take()));
  if (auto made = target->make_draft(); !made) return std::move(made.error()).in("make " + target->draft());
  return target;
}

SqliteRawTarget::~SqliteRawTarget() {
  sqlite3_finalize(insert_);
  sqlite3_close(db_);
  remove_draft();
}

void SqliteRawTarget::remove_draft() const {
  unlink(draft().c_str());
  for (const auto* side : side_files) unlink((draft() + side).c_str());
}

Result<Unit> SqliteRawTarget::make_draft() {
  remove_draft();  // of one that was killed
  const OwnedFd made(::open(draft().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return Error{ErrorKind::invalid, std::strerror(errno)};
  {
    auto connection = SqliteConnection::open(draft(), SqliteConnection::Mode::writer);
    if (!connection) return connection.error();
    if (auto migrated = migrate(*connection.value()); !migrated) return migrated;
  }
  if (sqlite3_open_v2(draft().c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    return failure();
  }
  // Nobody sees it before it is whole, and one that is not is thrown away: nothing need be undone.
  if (auto done = run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536"); !done)
    return done;
  return run("BEGIN");
}

Error SqliteRawTarget::failure() const {
  const bool full = (sqlite3_errcode(db_) & 0xff) == SQLITE_FULL;
  return {full ? ErrorKind::overloaded : ErrorKind::unavailable,
          full ? "the disk is full" : "the database failed: " + std::string(sqlite3_errmsg(db_))};
}

Result<Unit> SqliteRawTarget::run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
  return Unit{};
}

Result<Unit> SqliteRawTarget::step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  std::optional<Error> failed;
  if (code != SQLITE_DONE) failed = failure();
  sqlite3_reset(statement);
  if (failed) return *std::move(failed);
  return Unit{};
}

Result<Unit> SqliteRawTarget::begin_table(const TableShape& table) {
  if (auto kept = keep_journal_rows(); !kept) return kept;
  in_journal_ = table.name == "journal";
  column_count_ = table.columns.size();
  std::string sql = "INSERT INTO " + table.name + " (" + column_list(table) + ") VALUES (";
  for (std::size_t i = 0; i < column_count_; ++i) sql += i == 0 ? "?" : ", ?";
  sql += ")";
  sqlite3_finalize(std::exchange(insert_, nullptr));
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &insert_, nullptr) != SQLITE_OK) return failure();
  return Unit{};
}

Result<Unit> SqliteRawTarget::add(const RawRow& row) {
  if (row.size() != column_count_)
    return Error{ErrorKind::corrupt, "a row has another number of columns than its table"};
  int place = 0;
  for (const auto& cell : row) {
    ++place;
    const auto* data = cell.bytes.empty() ? "" : cell.bytes.data();
    switch (cell.type) {
      case CellType::integer: sqlite3_bind_int64(insert_, place, cell.number); break;
      case CellType::text:
        sqlite3_bind_text64(insert_, place, data, cell.bytes.size(), SQLITE_STATIC, SQLITE_UTF8);
        break;
      case CellType::bytes: sqlite3_bind_blob64(insert_, place, data, cell.bytes.size(), SQLITE_STATIC); break;
      case CellType::null: sqlite3_bind_null(insert_, place); break;
    }
  }
  if (auto done = step(insert_); !done) return done;
  if (!in_journal_) return Unit{};
  if (row[0].number != journal_run_) {
    if (auto kept = keep_journal_rows(); !kept) return kept;
    journal_run_ = row[0].number;
  }
  const auto last = static_cast<uint64_t>(row[1].number);
  if (last <= journal_rows_.head().value) return Error{ErrorKind::corrupt, "the rows of a journal are out of order"};
  journal_rows_.add(sqlite3_last_insert_rowid(db_), last - journal_rows_.head().value);
  return Unit{};
}

Result<Unit> SqliteRawTarget::keep_journal_rows() {
  const auto rows = std::exchange(journal_rows_, {});
  const auto run = std::exchange(journal_run_, 0);
  if (run == 0) return Unit{};
  sqlite3_stmt* update = nullptr;
  if (sqlite3_prepare_v2(db_, "UPDATE runs SET journal_rows = ? WHERE number = ?", -1, &update, nullptr) != SQLITE_OK) {
    return failure();
  }
  sqlite3_bind_blob64(update, 1, rows.bytes().data(), rows.bytes().size(), SQLITE_STATIC);
  sqlite3_bind_int64(update, 2, run);
  auto done = step(update);
  sqlite3_finalize(update);
  return done;
}

Result<Unit> SqliteRawTarget::finish() {
  if (auto kept = keep_journal_rows(); !kept) return kept;
  if (auto done = run("COMMIT"); !done) return done;
  sqlite3_finalize(std::exchange(insert_, nullptr));
  sqlite3_close(std::exchange(db_, nullptr));
  const auto failed = [&] { return Error{ErrorKind::unavailable, "keep " + path_ + ": " + std::strerror(errno)}; };
  if (!is_on_disk(draft(), O_RDWR)) return failed();
  // The log of an empty database must not be found beside another one.
  unlink(path_.c_str());
  for (const auto* side : side_files) unlink((path_ + side).c_str());
  if (rename(draft().c_str(), path_.c_str()) != 0) return failed();
  if (!is_on_disk(folder_of(path_), O_RDONLY | O_DIRECTORY)) return failed();
  return Unit{};
}

}  // namespace sluice::store
