// Rows that came with an answer, as a Query reads them: so that records of a group are read as those of one question.
#pragma once

#include "store/pg_session.h"
#include "store/sql_connection.h"
#include "store/sql_rows.h"

namespace sluice::store {

class PgFetched final : public Connection {
 public:
  // From `first` on the columns are those of the record.
  PgFetched(const PgRows& rows, int first) : statement_(rows, first) {}

  Dialect dialect() const override { return Dialect::postgres; }
  Statement* prepare(std::string_view /*sql*/, std::span<const Value> /*values*/, Asked /*asked*/) override {
    return &statement_;
  }
  void run(const char* /*sql*/) override {}
  void begin_reading() override {}
  void commit() override {}
  int change_count() const override { return 0; }
  std::vector<std::string> tables() override { return {}; }
  std::vector<Column> columns(const std::string& /*table*/) override { return {}; }

 private:
  class Fetched final : public Statement {
   public:
    Fetched(const PgRows& rows, int first) : rows_(rows), first_(first) {}
    void start(std::span<const Value> /*values*/, Lifetime /*lifetime*/) override {}
    bool next() override { return ++row_ < rows_.count(); }
    void finish() override {}
    bool is_null(int column) const override { return rows_.is_null(row_, first_ + column); }
    int64_t integer(int column) const override { return rows_.number(row_, first_ + column); }
    std::string_view bytes(int column) const override { return rows_.bytes(row_, first_ + column); }
    int column_count() const override { return 0; }
    std::string column_name(int /*column*/) const override { return {}; }
    Value::Type type_of(int /*column*/) const override { return Value::Type::blob; }
    int64_t made_number() const override { return 0; }

   private:
    const PgRows& rows_;
    int first_;
    int row_ = -1;
  };

  Fetched statement_;
};

// Gives each record to `take(number, record, row)`. What is wrong with them is the session's failure.
template <typename Row, typename Take>
void read_fetched(PgSession& session, const PgRows& rows, int first, Take take) {
  PgFetched fetched(rows, first);
  Query query(fetched, "");
  for (int row = 0; query.next(); ++row) {
    Row record;
    const int64_t number = read_row(query, record);
    take(number, std::move(record), row);
  }
  if (fetched.failure()) session.fail_corrupt(fetched.failure()->what);
}

}  // namespace sluice::store
