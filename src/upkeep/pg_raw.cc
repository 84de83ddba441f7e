#include "upkeep/pg_raw.h"

#include <array>

#include "store/on_disk.h"

namespace sluice::upkeep {
namespace {

using store::PgLock;
using store::PgRows;
using store::PgSession;
using store::PgType;
using store::PgValues;

constexpr int answer_ms_max = 600'000;  // PostgreSQL sorts a large table before it gives the first row

constexpr std::string_view living =
    "SELECT count(*) FROM nodes WHERE beat_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 10000000";

RawRow row_of(const PgRows& rows, int at) {
  RawRow row;
  for (int column = 0; column < rows.column_count(); ++column) {
    if (rows.is_null(at, column)) {
      row.emplace_back();
    } else if (rows.type_of(column) == static_cast<uint32_t>(PgType::text)) {
      row.push_back(Cell::text(rows.bytes(at, column)));
    } else if (rows.type_of(column) == static_cast<uint32_t>(PgType::bytes)) {
      row.push_back(Cell::blob(rows.bytes(at, column)));
    } else {
      row.push_back(Cell::of(rows.number(at, column)));
    }
  }
  return row;
}

// Orders texts by their bytes, as SQLite does, so that exports of both databases are the same bytes.
std::string order_by_bytes(const TableShape& table) {
  std::string order;
  for (const auto& column : table.key) {
    order.append(order.empty() ? "" : ", ").append(column);
    if (table.columns[table.index_of(column)].kind == ColumnKind::text) order += " COLLATE \"C\"";
  }
  return order;
}

}  // namespace

Result<std::unique_ptr<PgRawSource>> PgRawSource::open(const std::string& url) {
  auto session = PgSession::connect({.url = url, .answer_ms_max = answer_ms_max});
  if (!session) return session.error();
  std::unique_ptr<PgRawSource> source(new PgRawSource(std::move(session).take()));
  // Refuses a database of another program or version before any row is read.
  if (auto migrated = store::migrate(*source->session_); !migrated) return migrated.error();
  return source;
}

Error PgRawSource::take_failure() {
  auto error = store::error_of(*session_->take_failure());
  // A transaction in which a statement failed reads nothing more, so the rest is read in another one.
  session_->run("ROLLBACK");
  session_->take_failure();
  if (std::exchange(in_moment_, false)) static_cast<void>(begin());
  return error;
}

Result<Unit> PgRawSource::begin() {
  session_->run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  if (session_->failure()) return take_failure();
  in_moment_ = true;
  return Unit{};
}

void PgRawSource::end() {
  in_moment_ = false;
  session_->run("COMMIT");
  session_->take_failure();
}

Result<Unit> PgRawSource::read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) {
  if (values.empty()) return read_in_pieces(sql, take);
  PgValues sent;
  for (const auto& value : values) {
    if (value.type == CellType::integer) sent.number(value.number);
    if (value.type == CellType::text) sent.text(value.bytes);
    if (value.type == CellType::bytes) sent.bytes(value.bytes);
  }
  const auto rows = session_->execute(sql, sent);
  if (session_->failure()) return take_failure();
  for (int at = 0; at < rows.count(); ++at) {
    if (!take(row_of(rows, at))) break;
  }
  return Unit{};
}

Result<Unit> PgRawSource::read_in_pieces(std::string_view sql, const RowTaker& take) {
  const bool is_alone = !in_moment_;
  if (is_alone) {
    if (auto begun = begin(); !begun) return begun;
  }
  session_->run(("DECLARE pieces NO SCROLL CURSOR FOR " + std::string(sql)).c_str());
  if (session_->failure()) return take_failure();
  bool enough = false;
  for (int count = 1; count > 0 && !enough;) {
    const auto rows = session_->execute("FETCH 200 FROM pieces");
    if (session_->failure()) return take_failure();
    count = rows.count();
    for (int at = 0; at < count && !enough; ++at) enough = !take(row_of(rows, at));
  }
  session_->run("CLOSE pieces");
  if (session_->failure()) return take_failure();
  if (is_alone) end();
  return Unit{};
}

Result<Unit> PgRawSource::read_table(const TableShape& table, const RowTaker& take) {
  auto columns = column_list(table);
  if (table.name == "runs") {
    const auto at = columns.find(" head,") + 1;
    columns.replace(at, 4, "coalesce((SELECT heads.head FROM heads WHERE heads.run = runs.number), head)");
  }
  return read_in_pieces("SELECT " + columns + " FROM " + table.name + " ORDER BY " + order_by_bytes(table), take);
}

Result<Unit> PgRawSource::read_journal(int64_t run, const RowTaker& take) {
  const std::array values{Cell::of(run)};
  return read("SELECT last, batch FROM journal WHERE run = $1 ORDER BY last", values, take);
}

Result<std::vector<std::string>> PgRawSource::complaints(const TableShape& /*table*/) {
  return std::vector<std::string>();
}

Result<Unit> PgRawSource::check_idle() {
  const auto rows = session_->execute(living);
  if (session_->failure()) return take_failure();
  if (rows.number(0, 0) == 0) return Unit{};
  return Error{ErrorKind::conflict, "a server uses the store: stop all that share it, and wait ten seconds"};
}

namespace {

constexpr uint32_t waiting_rows_max = 1'000;
constexpr std::size_t waiting_bytes_max = 4 * 1024 * 1024;
constexpr std::string_view no_node = "'\\x00000000000000000000000000000000'::bytea";  // no node carries a copied run

PgType type_of(ColumnKind kind) {
  switch (cell_type_of(kind)) {
    case CellType::integer: return PgType::number;
    case CellType::text: return PgType::text;
    default: return PgType::bytes;
  }
}

std::string_view array_of(PgType type) {
  return type == PgType::number ? "bigint[]" : type == PgType::text ? "text[]" : "bytea[]";
}

bool has_made_numbers(const TableShape& table) { return table.columns[0].name == "number" && table.name != "audit"; }

}  // namespace

Result<std::unique_ptr<PgRawTarget>> PgRawTarget::open(const std::string& url) {
  {
    auto looking = PgRawSource::open(url);
    if (!looking) return looking.error();
    if (auto idle = looking.value()->check_idle(); !idle) return idle.error();
  }
  auto session = PgSession::connect({.url = url, .answer_ms_max = answer_ms_max});
  if (!session) return session.error();
  std::unique_ptr<PgRawTarget> target(new PgRawTarget(std::move(session).take()));
  if (auto prepared = target->prepare(); !prepared) return prepared.error();
  return target;
}

Result<Unit> PgRawTarget::run(const std::string& sql) {
  session_->run(sql.c_str());
  if (session_->failure()) return store::error_of(*session_->failure());
  return Unit{};
}

Result<Unit> PgRawTarget::prepare() {
  // A server that starts meanwhile waits for this lock until the copy is complete.
  const auto lock = std::to_string(static_cast<int64_t>(PgLock::records));
  if (auto begun = run("BEGIN; SELECT pg_advisory_xact_lock(" + lock + ")"); !begun) return begun;
  for (const auto& table : catalogue()) {
    const auto rows = session_->execute("SELECT 1::bigint FROM " + table.name + " LIMIT 1");
    if (session_->failure()) return store::error_of(*session_->failure());
    if (rows.count() > 0) {
      return Error{ErrorKind::conflict, "the store is not empty (it has " + table.name +
                                            "); nothing is written over it: choose another place, or remove it"};
    }
  }
  return Unit{};
}

Result<Unit> PgRawTarget::begin_table(const TableShape& table) {
  if (auto flushed = flush(); !flushed) return flushed;
  is_view_ = table.name == "flights";
  const bool is_carried = table.name == "runs" || table.name == "workflow_runs";
  columns_.clear();
  std::string arrays;
  for (const auto& column : table.columns) {
    const auto type = type_of(column.kind);
    columns_.emplace_back(type);
    arrays.append(arrays.empty() ? "$" : ", $").append(std::to_string(columns_.size()));
    arrays.append("::").append(array_of(type));
  }
  insert_ = "INSERT INTO " + table.name + " (" + column_list(table) + (is_carried ? ", node" : "") + ") SELECT u.*" +
            (is_carried ? ", " + std::string(no_node) : "") + " FROM unnest(" + arrays + ") AS u";
  return Unit{};
}

Result<Unit> PgRawTarget::add(const RawRow& row) {
  if (is_view_) return Unit{};
  if (row.size() != columns_.size())
    return Error{ErrorKind::corrupt, "a row has another number of columns than its table"};
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].is_null()) {
      columns_[i].add_null();
    } else if (row[i].type == CellType::integer) {
      columns_[i].add(row[i].number);
    } else {
      columns_[i].add(row[i].bytes);
    }
    waiting_bytes_ += row[i].bytes.size();
  }
  return columns_[0].size() >= waiting_rows_max || waiting_bytes_ >= waiting_bytes_max ? flush() : Result<Unit>(Unit{});
}

Result<Unit> PgRawTarget::flush() {
  if (columns_.empty() || columns_[0].size() == 0) return Unit{};
  PgValues values;
  for (auto& column : columns_) {
    values.array(column);
    column = store::PgArray(column.element());
  }
  waiting_bytes_ = 0;
  session_->execute(insert_, values);
  if (session_->failure()) return store::error_of(*session_->failure());
  return Unit{};
}

Result<Unit> PgRawTarget::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  auto done =
      run("INSERT INTO heads (id, run, conversation, message, epoch, head, node, state) "
          "SELECT id, number, conversation, message, epoch, head, node, state FROM runs WHERE ended_at IS NULL");
  if (!done) return done;
  // A run with rows in both tables was being sealed, and sealing must continue.
  done =
      run("UPDATE runs SET sealed = 1 WHERE EXISTS (SELECT FROM sealed_journals WHERE run = runs.number) "
          "AND NOT EXISTS (SELECT FROM journal WHERE run = runs.number)");
  if (!done) return done;
  for (const auto& table : catalogue()) {
    if (!has_made_numbers(table)) continue;
    done = run("SELECT setval(pg_get_serial_sequence('" + table.name +
               "', 'number'), (SELECT coalesce(max(number), 0) + 1 FROM " + table.name + "), false)");
    if (!done) return done;
  }
  return run("COMMIT");
}

}  // namespace sluice::upkeep
