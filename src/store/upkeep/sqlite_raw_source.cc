#include "store/upkeep/sqlite_raw_source.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <limits>

#include "store/sqlite_schema.h"

namespace sluice::store {
namespace {

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
  // What a dead server left in its log is for the next server to put in order.
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
  if (owner != application_mark()) return Error{ErrorKind::invalid, "this is not a database of sluice"};
  if (version == schema_version()) return Unit{};
  return Error{ErrorKind::invalid, "the database has schema " + std::to_string(version) +
                                       ", but this program works on " + std::to_string(schema_version()) +
                                       (version < schema_version() ? ": start the server once, which upgrades it"
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
                     if (!rows) return true;  // told when it is this run's turn
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
    // In one step: between steps somebody else's write would make it begin anew, and under load it would never end.
    if (copy != nullptr) sqlite3_backup_step(copy, -1);
    code = copy != nullptr ? sqlite3_backup_finish(copy) : sqlite3_extended_errcode(to);
    // So that it is one file, and reading it makes no others. A server that opens it goes back to a log.
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

}  // namespace sluice::store
