#include "store/pg_connection.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "store/sql_query.h"

namespace sluice::store {

std::string to_postgres(std::string_view sql) {
  std::string out;
  int counted = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    if (sql[i] == '\'') is_quoted = !is_quoted;
    if (sql[i] != '?' || is_quoted) {
      out += sql[i];
      continue;
    }
    out += '$';
    const bool is_numbered = i + 1 < sql.size() && std::isdigit(static_cast<unsigned char>(sql[i + 1])) != 0;
    if (!is_numbered) out += std::to_string(++counted);
  }
  constexpr std::string_view made = "VALUES (NULL,";
  if (const auto at = out.find(made); at != std::string::npos) out.replace(at, made.size(), "VALUES (DEFAULT,");
  return out;
}

namespace {

Trouble trouble_of(const PgFailure& failure) {
  switch (failure.remedy()) {
    case PgRemedy::conflict: return Trouble::conflict;
    case PgRemedy::refuse: return Trouble::invalid;
    case PgRemedy::human: return Trouble::corrupt;
    case PgRemedy::later: return failure.sqlstate == "53100" ? Trouble::full : Trouble::busy;
    case PgRemedy::again: return Trouble::busy;
    case PgRemedy::reconnect: break;
  }
  if (failure.sqlstate.starts_with("54")) return Trouble::invalid;  // too long for an index
  // A statement that was refused for another reason (a right that is missing, say) was not done.
  const bool is_lost = failure.sqlstate.empty() || failure.sqlstate == idle_too_long ||
                       failure.sqlstate.starts_with("08") || failure.sqlstate.starts_with("57P");
  return is_lost ? Trouble::lost : Trouble::busy;
}

Value::Type type_of_oid(uint32_t oid) {
  switch (static_cast<PgType>(oid)) {
    case PgType::bytes: return Value::Type::blob;
    case PgType::text: return Value::Type::text;
    case PgType::number: break;
  }
  return Value::Type::integer;
}

}  // namespace

// All rows of an answer are here when it has come.
class PgStatement final : public Statement {
 public:
  PgStatement(PgConnection& db, std::string sql) : db_(db), sql_(std::move(sql)) {}

  void start(std::span<const Value> values, Lifetime /*lifetime*/) override {
    SLUICE_CHECK(!is_in_use_);
    is_in_use_ = true;
    row_ = -1;
    PgValues sent;
    for (const auto& value : values) add(sent, value);
    rows_ = db_.execute(sql_, sent);
  }
  bool next() override { return !db_.failure() && ++row_ < rows_.count(); }
  void finish() override {
    is_in_use_ = false;
    rows_ = PgRows();
  }

  bool is_null(int column) const override { return rows_.is_null(row_, column); }
  int64_t integer(int column) const override { return rows_.number(row_, column); }
  std::string_view bytes(int column) const override { return rows_.bytes(row_, column); }
  int column_count() const override { return rows_.column_count(); }
  std::string column_name(int column) const override { return rows_.column_name(column); }
  Value::Type type_of(int column) const override { return type_of_oid(rows_.type_of(column)); }
  int64_t made_number() const override { return rows_.count() == 0 ? 0 : rows_.number(0, 0); }

 private:
  void add(PgValues& sent, const Value& value) {
    switch (value.type) {
      case Value::Type::integer: value.is_null ? sent.null(PgType::number) : sent.number(value.integer); return;
      case Value::Type::blob: value.is_null ? sent.null(PgType::bytes) : sent.bytes(value.bytes); return;
      case Value::Type::text: break;
    }
    if (value.bytes.find('\0') != std::string_view::npos) {
      db_.fail(Trouble::invalid, "a text has a NUL character, which PostgreSQL cannot keep: leave it out");
    }
    value.is_null ? sent.null(PgType::text) : sent.text(value.bytes);
  }

  PgConnection& db_;
  std::string sql_;
  PgRows rows_;
  int row_ = -1;
  bool is_in_use_ = false;
};

Statement* PgConnection::prepare(std::string_view sql, std::span<const Value> /*values*/, Asked asked) {
  if (failure()) return nullptr;
  const auto kept = statements_.find(sql);
  if (kept != statements_.end()) return kept->second.get();
  auto said = to_postgres(sql);
  if (asked == Asked::made_number) said += " RETURNING number";
  return statements_.emplace(sql, std::make_unique<PgStatement>(*this, std::move(said))).first->second.get();
}

PgRows PgConnection::execute(const std::string& sql, const PgValues& values) {
  if (failure()) return PgRows();
  if (session_ == nullptr) return fail(Trouble::lost, "it could not be made"), PgRows();
  if (std::exchange(is_begin_due_, false)) session_->send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  session_->send(sql, values);
  auto given = session_->finish();
  take_over_failure();
  if (given.empty()) return PgRows();
  change_count_ = given.back().changed();
  return std::move(given.back());
}

void PgConnection::run(const char* sql) {
  if (failure() || std::exchange(is_begin_due_, false)) return;  // what was never begun need not end
  if (session_ == nullptr) return fail(Trouble::lost, "it could not be made");
  session_->run(sql);
  take_over_failure();
}

void PgConnection::take_over_failure() {
  if (const auto failed = session_->take_failure()) fail(trouble_of(*failed), failed->what);
}

std::vector<std::string> PgConnection::tables() {
  // Partitions are told with their table.
  Query query(*this,
              "SELECT CAST(relname AS text) FROM pg_class WHERE relnamespace = CAST(current_schema() AS regnamespace) "
              "AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'sluice_schema' ORDER BY relname");
  std::vector<std::string> names;
  while (query.next()) query.read(names.emplace_back());
  return names;
}

std::vector<Column> PgConnection::columns(const std::string& table) {
  Query query(*this,
              "SELECT CAST(attname AS text), CAST(atttypid AS bigint) FROM pg_attribute "
              "JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = CAST(current_schema() AS regnamespace) "
              "AND relname = ? AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
              table);
  std::vector<Column> columns;
  while (query.next()) {
    int64_t type = 0;
    query.read(columns.emplace_back().name, type);
    columns.back().type = type_of_oid(static_cast<uint32_t>(type));
  }
  return columns;
}

}  // namespace sluice::store
