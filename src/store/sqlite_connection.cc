#include "store/sqlite_connection.h"

#include <sqlite3.h>

namespace sluice::store {

Error error_of(const Failure& failure) {
  switch (failure.code) {
    case SQLITE_FULL: return {ErrorKind::overloaded, "the disk is full"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {ErrorKind::overloaded, "the database is in use by another process"};
    case SQLITE_CONSTRAINT: return {ErrorKind::conflict, "it is there already: " + failure.what};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {ErrorKind::corrupt, failure.what};
    default: return {ErrorKind::unavailable, "the database failed: " + failure.what};
  }
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Mode mode) {
  // Counting every allocation takes a lock that all threads share. Refused once SQLite is in use,
  // which is as well.
  [[maybe_unused]] static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  std::unique_ptr<Connection> connection(new Connection(db));
  if (code != SQLITE_OK) {
    connection->fail(code);
    return error_of(*connection->failure());
  }
  sqlite3_busy_timeout(db, 5000);
  if (mode == Mode::writer) {
    // What is deleted is overwritten, whatever SQLite was built to do: secrets must not linger in free pages.
    connection->run(
        "PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = "
        "0;"
        "PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY");
    sqlite3_wal_hook(
        db,
        [](void* self, sqlite3*, const char*, int frames) {
          static_cast<Connection*>(self)->wal_frame_count_ = frames;
          return SQLITE_OK;
        },
        connection.get());
  } else {
    connection->run("PRAGMA query_only = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY");
  }
  if (connection->failure()) return error_of(*connection->failure());
  return connection;
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

sqlite3_stmt* Connection::prepare(std::string_view sql) {
  if (failure_) return nullptr;
  const auto kept = statements_.find(sql);
  if (kept != statements_.end()) return kept->second;
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) {
    fail(code);
    return nullptr;
  }
  statements_.emplace(sql, statement);
  return statement;
}

void Connection::run(const char* sql) {
  if (failure_) return;
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

int64_t Connection::last_number() const { return sqlite3_last_insert_rowid(db_); }
int Connection::change_count() const { return sqlite3_changes(db_); }

void Connection::checkpoint(Wait wait) {
  const int mode = wait == Wait::for_readers ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, mode, nullptr, nullptr);
  // Readers that stay too long only mean that the log is emptied later.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) fail(code);
}

void Connection::fail(int code) {
  if (failure_) return;
  failure_ = Failure{code & 0xff, db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_)};
}

void Connection::fail_corrupt(std::string what) {
  if (!failure_) failure_ = Failure{SQLITE_CORRUPT, std::move(what)};
}

}  // namespace sluice::store
