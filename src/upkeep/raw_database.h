// A database as rows of any table: rows are read as they are at one moment, or written into an empty database. SQLite
// and PostgreSQL implement both (sqlite_raw.h, pg_raw.h), so everything above them is written once.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "upkeep/catalogue.h"

namespace sluice::upkeep {

// Changes nothing. A server may use the database meanwhile. Used by one thread.
class RawSource {
 public:
  virtual ~RawSource() = default;

  // Everything that is read until end() is as it was at one moment. Held briefly beside a server, because the database
  // keeps all rows that the server overwrites until then.
  virtual Result<Unit> begin() = 0;
  virtual void end() = 0;

  // Gives the rows of `sql` to `take`. `values` are $1, $2 …, each used once and in order. `corrupt` if the database
  // cannot read on; the rows before that were given.
  virtual Result<Unit> read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) = 0;
  // Gives all rows of a table in the order of its key, between begin() and end(). The head of a run is read from its
  // journal, because the row of an unfinished run may be older.
  virtual Result<Unit> read_table(const TableShape& table, const RowTaker& take) = 0;
  // Gives the position of the last event and the batch of each row of a run's journal that is not sealed, in order,
  // between begin() and end().
  virtual Result<Unit> read_journal(int64_t run, const RowTaker& take) = 0;

  // The faults that the database itself finds in the table, a sentence each.
  virtual Result<std::vector<std::string>> complaints(const TableShape& table) = 0;
};

// Rows that are added appear in the database with finish(), all of them or none.
class RawTarget {
 public:
  virtual ~RawTarget() = default;
  virtual Result<Unit> begin_table(const TableShape& table) = 0;
  virtual Result<Unit> add(const RawRow& row) = 0;
  virtual Result<Unit> finish() = 0;
};

// `place` is sqlite:PATH or postgresql://…
Result<std::unique_ptr<RawSource>> open_source(const std::string& place);
// `conflict` unless the store at this place is empty and no server uses it.
Result<std::unique_ptr<RawTarget>> open_target(const std::string& place);

}  // namespace sluice::upkeep
