#include "upkeep/sqlite_raw.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "store/on_disk.h"

namespace sluice::upkeep {
namespace {

using store::JournalRows;

Cell cell_of(sqlite3_stmt* statement, int column) {
  const auto bytes = [&] {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, column));
    return data == nullptr ? std::string_view()
                           : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return Cell::of(sqlite3_column_int64(statement, column));
    case SQLITE_TEXT: return Cell::text(bytes());
    case SQLITE_NULL: return {};
    default: return Cell::blob(bytes());
  }
}

void bind(sqlite3_stmt* statement, int place, const Cell& cell) {
  const auto* data = cell.bytes.empty() ? "" : cell.bytes.data();
  switch (cell.type) {
    case CellType::integer: sqlite3_bind_int64(statement, place, cell.number); return;
    case CellType::text:
      sqlite3_bind_text64(statement, place, data, cell.bytes.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
      return;
    case CellType::bytes: sqlite3_bind_blob64(statement, place, data, cell.bytes.size(), SQLITE_TRANSIENT); return;
    case CellType::null: sqlite3_bind_null(statement, place); return;
  }
}

std::string order_of(const TableShape& table) {
  std::string order;
  for (const auto& column : table.key) order.append(order.empty() ? "" : ", ").append(column);
  return order;
}

}  // namespace

Result<std::unique_ptr<SqliteRawSource>> SqliteRawSource::open(const std::string& path) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  std::unique_ptr<SqliteRawSource> source(new SqliteRawSource(db));
  if (code != SQLITE_OK) {
    return Error{ErrorKind::invalid, "there is no store at " + path + ": " + sqlite3_errstr(code)};
  }
  sqlite3_busy_timeout(db, 5000);
  // A dead server may have left commits in its log. Only the next server moves them, after it has checked the disk
  // (store/sqlite_settle.cc).
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  for (const auto* sql : {"PRAGMA query_only = ON", "PRAGMA cell_size_check = ON", "PRAGMA cache_size = -16384"}) {
    sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  }
  if (auto checked = source->check_owner(); !checked) return std::move(checked.error()).in("open store " + path);
  return source;
}

SqliteRawSource::~SqliteRawSource() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Result<Unit> SqliteRawSource::check_owner() {
  int64_t owner = 0;
  int64_t version = 0;
  const auto into = [](int64_t& number) {
    return [&number](const RawRow& row) { return number = row[0].number, true; };
  };
  if (auto done = read("PRAGMA application_id", {}, into(owner)); !done) return done;
  if (auto done = read("PRAGMA user_version", {}, into(version)); !done) return done;
  if (owner != store::application_mark()) return Error{ErrorKind::invalid, "this is not a database of sluice"};
  if (version == store::schema_version()) return Unit{};
  return Error{ErrorKind::invalid, "the database has schema " + std::to_string(version) +
                                       ", but this program works on " + std::to_string(store::schema_version()) +
                                       (version < store::schema_version() ? ": start the server once, which upgrades it"
                                                                          : ": use the newer sluice that wrote it")};
}

Error SqliteRawSource::failure() const {
  const int code = sqlite3_extended_errcode(db_);
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR: return {ErrorKind::corrupt, sqlite3_errmsg(db_)};
    case SQLITE_FULL: return {ErrorKind::overloaded, "the disk is full"};
    default: return {ErrorKind::unavailable, std::string("the database failed: ") + sqlite3_errmsg(db_)};
  }
}

Result<sqlite3_stmt*> SqliteRawSource::prepare(std::string_view sql) {
  const auto kept = statements_.find(sql);
  if (kept != statements_.end()) return kept->second;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return failure();
  }
  statements_.emplace(sql, statement);
  return statement;
}

Result<Unit> SqliteRawSource::begin() {
  open_rows_.reset();
  return read("BEGIN", {}, [](const RawRow&) { return true; });
}

void SqliteRawSource::end() { sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr); }

Result<Unit> SqliteRawSource::read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) {
  const auto prepared = prepare(sql);
  if (!prepared) return prepared.error();
  auto* const statement = prepared.value();
  SLUICE_CHECK(sqlite3_stmt_busy(statement) == 0);
  int place = 0;
  for (const auto& value : values) bind(statement, ++place, value);
  RawRow row;
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    row.clear();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(cell_of(statement, i));
    if (take(row)) continue;
    code = SQLITE_DONE;
    break;
  }
  std::optional<Error> failed;
  if (code != SQLITE_DONE) failed = failure();
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (failed) return *std::move(failed);
  return Unit{};
}

Result<Unit> SqliteRawSource::read_table(const TableShape& table, const RowTaker& take) {
  if (table.name == "runs") return read_runs(table, take);
  if (table.name == "journal") return read_journals(table, take);
  return read("SELECT " + column_list(table) + " FROM " + table.name + " ORDER BY " + order_of(table), {}, take);
}

Result<Unit> SqliteRawSource::read_runs(const TableShape& table, const RowTaker& take) {
  const auto number = table.index_of("number");
  const auto head = table.index_of("head");
  if (auto found = find_later_rows(); !found) return found;
  RawRow as_it_is;
  return read("SELECT " + column_list(table) + " FROM runs ORDER BY number", {}, [&](const RawRow& row) {
    const auto open = open_rows_->find(row[number].number);
    if (open == open_rows_->end()) return take(row);
    as_it_is = row;
    as_it_is[head].number = static_cast<int64_t>(open->second.head().value);
    return take(as_it_is);
  });
}

Result<Unit> SqliteRawSource::read_journals(const TableShape& /*table*/, const RowTaker& take) {
  std::optional<Error> failed;
  bool enough = false;
  auto done =
      read("SELECT number FROM runs WHERE journal_rows IS NOT NULL ORDER BY number", {}, [&](const RawRow& run) {
        const int64_t number = run[0].number;
        auto taken = read_journal(number, [&](const RawRow& row) {
          enough = !take({Cell::of(number), row[0], row[1]});
          return !enough;
        });
        if (!taken) failed = std::move(taken.error());
        return !failed && !enough;
      });
  if (failed) return *std::move(failed);
  return done;
}

Result<JournalRows> SqliteRawSource::rows_of(int64_t run) {
  std::optional<JournalRows> rows;
  bool is_over = true;
  const std::array values{Cell::of(run)};
  auto done = read("SELECT journal_rows, ended_at FROM runs WHERE number = $1", values, [&](const RawRow& row) {
    rows = JournalRows::from_bytes(row[0].bytes);
    is_over = !row[1].is_null();
    return true;
  });
  if (!done) return done.error();
  if (!rows) return Error{ErrorKind::corrupt, "the list of its rows is damaged"};
  if (is_over) return *std::move(rows);
  if (auto found = find_later_rows(); !found) return found.error();
  const auto open = open_rows_->find(run);
  return open == open_rows_->end() ? *std::move(rows) : open->second;
}

Result<Unit> SqliteRawSource::read_journal(int64_t run, const RowTaker& take) {
  const auto rows = rows_of(run);
  if (!rows) return rows.error();
  for (const auto& row : rows.value().rows_after({0})) {
    bool found = false;
    bool enough = false;
    const std::array values{Cell::of(row.number), Cell::of(run)};
    auto done =
        read("SELECT last, batch FROM journal WHERE number = $1 AND run = $2", values, [&](const RawRow& cells) {
          found = true;
          enough = !take({cells[0], cells[1]});
          return true;
        });
    if (!done) return done;
    if (!found) return Error{ErrorKind::corrupt, "row " + std::to_string(row.number) + " of the journal is missing"};
    if (enough) break;
  }
  return Unit{};
}

Result<Unit> SqliteRawSource::find_later_rows() {
  if (open_rows_) return Unit{};
  open_rows_.emplace();
  int64_t known = std::numeric_limits<int64_t>::max();
  auto done = read("SELECT runs.number, journal_rows FROM flights JOIN runs ON runs.number = flights.run", {},
                   [&](const RawRow& row) {
                     const auto rows = JournalRows::from_bytes(row[1].bytes);
                     if (!rows) return true;  // reported when this run is read
                     known = std::min(known, rows->last_number());
                     open_rows_->emplace(row[0].number, *rows);
                     return true;
                   });
  if (!done) return done;
  const std::array values{Cell::of(known)};
  return read("SELECT number, run, last FROM journal WHERE number > $1 ORDER BY number", values,
              [&](const RawRow& row) {
                const auto open = open_rows_->find(row[1].number);
                const auto last = static_cast<uint64_t>(row[2].number);
                if (open == open_rows_->end() || row[0].number <= open->second.last_number()) return true;
                if (last > open->second.head().value) open->second.add(row[0].number, last - open->second.head().value);
                return true;
              });
}

Result<std::vector<std::string>> SqliteRawSource::complaints(const TableShape& table) {
  std::vector<std::string> found;
  auto done = read("PRAGMA integrity_check('" + table.name + "')", {}, [&](const RawRow& row) {
    if (row[0].bytes != "ok") found.emplace_back(row[0].bytes);
    return true;
  });
  if (!done && done.error().kind != ErrorKind::corrupt) return done.error();
  if (!done) found.push_back(done.error().what);
  return found;
}

Result<Unit> SqliteRawSource::copy_to(const std::string& path) {
  sqlite3* to = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int code = sqlite3_open_v2(path.c_str(), &to, flags, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_exec(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = FULL", nullptr, nullptr, nullptr);
    auto* const copy = sqlite3_backup_init(to, "main", db_, "main");
    // In one step, because a write between two steps makes the copy begin anew, and under load it would never end.
    if (copy != nullptr) sqlite3_backup_step(copy, -1);
    code = copy != nullptr ? sqlite3_backup_finish(copy) : sqlite3_extended_errcode(to);
    // Without a write-ahead log the copy is one file, and reading it creates no others. A server that opens it turns
    // the log on again.
    if (code == SQLITE_OK) code = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  }
  std::optional<Error> failed;
  if (code != SQLITE_OK) {
    const bool full = (code & 0xff) == SQLITE_FULL;
    failed = Error{full ? ErrorKind::overloaded : ErrorKind::unavailable,
                   "copy the database to " + path + ": " + (full ? "the disk is full" : sqlite3_errstr(code))};
  }
  sqlite3_close(to);
  if (failed) return *std::move(failed);
  return Unit{};
}

namespace {

constexpr std::array side_files = {"-wal", "-shm", "-journal"};

// A store is empty if no table has a row. A server that was only started once has made a tenant already.
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
  auto lock = store::lock_database(path);
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
  remove_draft();  // of an import that was killed
  const OwnedFd made(::open(draft().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return Error{ErrorKind::invalid, std::strerror(errno)};
  if (auto created = store::make_sqlite(draft()); !created) return created;
  if (sqlite3_open_v2(draft().c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    return failure();
  }
  // An incomplete draft is deleted, so neither a rollback journal nor syncing is needed before finish().
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
  // SQLite would take the log of the empty database for a log of the new one.
  unlink(path_.c_str());
  for (const auto* side : side_files) unlink((path_ + side).c_str());
  if (rename(draft().c_str(), path_.c_str()) != 0) return failed();
  if (!is_on_disk(folder_of(path_), O_RDONLY | O_DIRECTORY)) return failed();
  return Unit{};
}

}  // namespace sluice::upkeep
