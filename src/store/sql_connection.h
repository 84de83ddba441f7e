// One connection to a database and the statements prepared on it, whatever database it is: SqliteConnection and
// PgConnection stand behind it, and SQL that is written with it (sql_*.cc) runs on both. Where they differ: `?` and
// `?N` are values, a first NULL among VALUES stands for the number that the database makes, truth is 0 or 1.
//
// A Connection remembers the first thing that went wrong, and from then on its statements do
// nothing. So what is written with it reads as if nothing could go wrong, and whoever began the
// transaction looks once, at the end, whether it did. Used by one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice::store {

// What went wrong, by what can be done about it.
enum class Trouble : uint8_t {
  full,      // nothing was written: no room on the disk
  busy,      // nothing was written: it cannot be used now
  conflict,  // the statement breaks a rule of its table
  invalid,   // the database cannot keep such a value
  corrupt,   // what was read is not what was written
  lost,      // the connection is gone; what was not being committed was not written
  unknown,   // it may have been written
};
struct Failure {
  Trouble trouble;
  std::string what;
};
Error error_of(const Failure& failure);

// A value on its way into a statement, or out of a row. The bytes are somebody else's.
struct Value {
  enum class Type : uint8_t { integer, text, blob };
  Type type = Type::integer;
  bool is_null = false;
  int64_t integer = 0;
  std::string_view bytes;  // of text or a blob
};

struct Column {
  std::string name;
  Value::Type type;
};

// One that is prepared. It is in use from start() to finish().
class Statement {
 public:
  // How long the values' bytes last: as long as the call of start(), or until finish().
  enum class Lifetime : uint8_t { call, use };

  virtual ~Statement() = default;
  virtual void start(std::span<const Value> values, Lifetime lifetime) = 0;
  // Is there a(nother) row?
  virtual bool next() = 0;
  virtual void finish() = 0;

  // Of the row: by column, from 0.
  virtual bool is_null(int column) const = 0;
  virtual int64_t integer(int column) const = 0;
  virtual std::string_view bytes(int column) const = 0;

  virtual int column_count() const = 0;
  virtual std::string column_name(int column) const = 0;
  virtual Value::Type type_of(int column) const = 0;  // of this row's
  // The `number` of the row that it inserted, if it was prepared to be asked.
  virtual int64_t made_number() const = 0;
};

class Connection {
 public:
  enum class Dialect : uint8_t { sqlite, postgres };
  enum class Asked : uint8_t { rows, made_number };

  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  virtual Dialect dialect() const = 0;
  // Prepared once, kept for good; empty when something went wrong, now or before. `values` are as many and of such
  // types as it will be started with.
  virtual Statement* prepare(std::string_view sql, std::span<const Value> values, Asked asked) = 0;
  // One or more statements without values.
  virtual void run(const char* sql) = 0;
  // A transaction that sees the database as it is at one moment.
  virtual void begin_reading() = 0;
  // Ends a transaction.
  virtual void commit() = 0;
  virtual int change_count() const = 0;  // rows that the last statement changed
  // All that belong to this program, by name.
  virtual std::vector<std::string> tables() = 0;
  virtual std::vector<Column> columns(const std::string& table) = 0;  // in the table's order

  // The first counts.
  void fail(Trouble trouble, std::string what) {
    if (!failure_) failure_ = Failure{trouble, std::move(what)};
  }
  // What was read is not what was written.
  void fail_corrupt(std::string what) { fail(Trouble::corrupt, std::move(what)); }
  const std::optional<Failure>& failure() const { return failure_; }
  std::optional<Failure> take_failure() { return std::exchange(failure_, std::nullopt); }

 protected:
  Connection() = default;

 private:
  std::optional<Failure> failure_;
};

}  // namespace sluice::store
