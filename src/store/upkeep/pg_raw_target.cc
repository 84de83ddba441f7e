#include "store/pg_schema.h"
#include "store/upkeep/pg_raw.h"

namespace sluice::store {
namespace {

constexpr uint32_t waiting_rows_max = 1'000;
constexpr std::size_t waiting_bytes_max = 4 * 1024 * 1024;
constexpr std::string_view nobody = "'\\x00000000000000000000000000000000'::bytea";  // carries it

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
  auto session = PgSession::connect({.url = url, .answer_ms_max = raw_answer_ms_max});
  if (!session) return session.error();
  std::unique_ptr<PgRawTarget> target(new PgRawTarget(std::move(session).take()));
  if (auto prepared = target->prepare(); !prepared) return prepared.error();
  return target;
}

Result<Unit> PgRawTarget::run(const std::string& sql) {
  session_->run(sql.c_str());
  if (session_->failure()) return error_of(*session_->failure());
  return Unit{};
}

Result<Unit> PgRawTarget::prepare() {
  // A server that starts meanwhile waits for the end.
  const auto lock = std::to_string(static_cast<int64_t>(PgLock::records));
  if (auto begun = run("BEGIN; SELECT pg_advisory_xact_lock(" + lock + ")"); !begun) return begun;
  for (const auto& table : catalogue()) {
    const auto rows = session_->execute("SELECT 1::bigint FROM " + table.name + " LIMIT 1");
    if (session_->failure()) return error_of(*session_->failure());
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
            (is_carried ? ", " + std::string(nobody) : "") + " FROM unnest(" + arrays + ") AS u";
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
    column = PgArray(column.element());
  }
  waiting_bytes_ = 0;
  session_->execute(insert_, values);
  if (session_->failure()) return error_of(*session_->failure());
  return Unit{};
}

Result<Unit> PgRawTarget::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  auto done =
      run("INSERT INTO heads (id, run, conversation, message, epoch, head, node, state) "
          "SELECT id, number, conversation, message, epoch, head, node, state FROM runs WHERE ended_at IS NULL");
  if (!done) return done;
  // One with rows in both was being sealed.
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

}  // namespace sluice::store
