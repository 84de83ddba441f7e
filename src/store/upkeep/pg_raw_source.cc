#include <array>

#include "store/pg_schema.h"
#include "store/upkeep/pg_raw.h"

namespace sluice::store {
namespace {

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

// As SQLite orders: by the bytes.
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
  auto session = PgSession::connect({.url = url, .answer_ms_max = raw_answer_ms_max});
  if (!session) return session.error();
  std::unique_ptr<PgRawSource> source(new PgRawSource(std::move(session).take()));
  // Also tells a database of another program, or of another version, before a row of it is read.
  if (auto migrated = migrate(*source->session_); !migrated) return migrated.error();
  return source;
}

Error PgRawSource::take_failure() {
  auto error = error_of(*session_->take_failure());
  // A transaction in which something failed reads nothing more.
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

}  // namespace sluice::store
