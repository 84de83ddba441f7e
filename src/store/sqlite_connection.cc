#include "store/sqlite_connection.h"

#include <sqlite3.h>

#include "base/check.h"
#include "store/sql_query.h"

namespace sluice::store {

namespace {

constexpr int busy_ms_max = 5'000;
constexpr int readers_ms_max = 100;

class SqliteStatement final : public Statement {
 public:
  SqliteStatement(SqliteConnection& db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  ~SqliteStatement() override { sqlite3_finalize(statement_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void start(std::span<const Value> values, Lifetime lifetime) override {
    SLUICE_CHECK(sqlite3_stmt_busy(statement_) == 0);
    auto* const keep = lifetime == Lifetime::call ? SQLITE_TRANSIENT : SQLITE_STATIC;
    int place = 0;
    for (const auto& value : values) {
      ++place;
      if (value.is_null) continue;
      // An empty view may have no address, which SQLite would take for NULL.
      const char* const data = value.bytes.empty() ? "" : value.bytes.data();
      switch (value.type) {
        case Value::Type::integer: sqlite3_bind_int64(statement_, place, value.integer); break;
        case Value::Type::text:
          sqlite3_bind_text64(statement_, place, data, value.bytes.size(), keep, SQLITE_UTF8);
          break;
        case Value::Type::blob: sqlite3_bind_blob64(statement_, place, data, value.bytes.size(), keep); break;
      }
    }
  }

  bool next() override {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) db_.fail_with(code);
    return false;
  }

  void finish() override {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  std::string_view bytes(int column) const override {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return data == nullptr ? std::string_view()
                           : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

  int column_count() const override { return sqlite3_column_count(statement_); }
  std::string column_name(int column) const override { return sqlite3_column_name(statement_, column); }
  Value::Type type_of(int column) const override {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_TEXT: return Value::Type::text;
      case SQLITE_BLOB: return Value::Type::blob;
      default: return Value::Type::integer;
    }
  }
  int64_t made_number() const override { return sqlite3_last_insert_rowid(sqlite3_db_handle(statement_)); }

 private:
  SqliteConnection& db_;
  sqlite3_stmt* statement_;
};

Trouble trouble_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL: return Trouble::full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Trouble::busy;
    case SQLITE_CONSTRAINT: return Trouble::conflict;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Trouble::corrupt;
    default: return Trouble::unknown;
  }
}

}  // namespace

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path, Mode mode) {
  // Counting every allocation takes a lock that all threads share. Refused once SQLite is in use,
  // which is as well.
  [[maybe_unused]] static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(db));
  if (code != SQLITE_OK) {
    connection->fail_with(code);
    return error_of(*connection->failure());
  }
  sqlite3_busy_timeout(db, busy_ms_max);
  if (mode == Mode::writer) {
    connection->set_up_writing();
    sqlite3_wal_hook(
        db,
        [](void* self, sqlite3*, const char*, int frames) {
          static_cast<SqliteConnection*>(self)->wal_frame_count_ = frames;
          return SQLITE_OK;
        },
        connection.get());
  } else {
    connection->run("PRAGMA query_only = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY");
  }
  if (connection->failure()) return error_of(*connection->failure());
  return connection;
}

void SqliteConnection::set_up_writing() {
  // What is deleted is overwritten, whatever SQLite was built to do: secrets must not linger in free pages.
  run("PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
      "PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY");
}

SqliteConnection::~SqliteConnection() {
  statements_.clear();
  sqlite3_close(db_);
}

Statement* SqliteConnection::prepare(std::string_view sql, std::span<const Value> /*values*/, Asked /*asked*/) {
  if (failure()) return nullptr;
  const auto kept = statements_.find(sql);
  if (kept != statements_.end()) return kept->second.get();
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) {
    fail_with(code);
    return nullptr;
  }
  return statements_.emplace(sql, std::make_unique<SqliteStatement>(*this, statement)).first->second.get();
}

void SqliteConnection::run(const char* sql) {
  if (failure()) return;
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(code);
}

// For what every transaction says. Not for PRAGMA, some of which act when they are prepared.
void SqliteConnection::run_prepared(std::string_view sql) {
  auto* const statement = prepare(sql, {}, Asked::rows);
  if (statement == nullptr) return;
  statement->next();
  statement->finish();
}

int SqliteConnection::change_count() const { return sqlite3_changes(db_); }

std::vector<std::string> SqliteConnection::tables() {
  Query query(*this, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
  std::vector<std::string> names;
  while (query.next()) query.read(names.emplace_back());
  return names;
}

std::vector<Column> SqliteConnection::columns(const std::string& table) {
  Query query(*this, "SELECT name, type FROM pragma_table_info(?) ORDER BY cid", table);
  std::vector<Column> columns;
  while (query.next()) {
    std::string type;
    query.read(columns.emplace_back().name, type);
    columns.back().type = type == "TEXT"   ? Value::Type::text
                          : type == "BLOB" ? Value::Type::blob
                                           : Value::Type::integer;
  }
  return columns;
}

SqliteConnection::Moved SqliteConnection::checkpoint(Wait wait) {
  const int mode = wait == Wait::for_readers ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  // Our own readers are quick; somebody who copies the database is not, and no writer waits for that.
  sqlite3_busy_timeout(db_, readers_ms_max);
  int frame_count = 0;
  int moved_count = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, mode, &frame_count, &moved_count);
  sqlite3_busy_timeout(db_, busy_ms_max);
  // Readers that stay too long only mean that the log is emptied later.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) fail_with(code);
  return {moved_count, code == SQLITE_OK && wait == Wait::for_readers};
}

void SqliteConnection::fail_with(int code) {
  const auto trouble = trouble_of(code);
  if (trouble == Trouble::busy) return fail(trouble, "the database is in use by another process");
  fail(trouble, db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_));
}

}  // namespace sluice::store
