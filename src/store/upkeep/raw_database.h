// A database as upkeep sees it: rows out of it at one moment, rows into an empty one.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/upkeep/catalogue.h"

namespace sluice::store {

// Changes nothing; a server may be using it. One thread's.
class RawSource {
 public:
  virtual ~RawSource() = default;

  // Everything read until end() is of one moment. Not held for long where a server writes: what it overwrites must be
  // kept for us meanwhile.
  virtual Result<Unit> begin() = 0;
  virtual void end() = 0;

  // The rows of `sql`, in which `values` are $1, $2 …, each named once and in order. `corrupt` when the database
  // cannot read on; rows before that were given.
  virtual Result<Unit> read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) = 0;
  // All rows of a table in its key's order, between begin() and end(). The head of each run is that of its journal.
  virtual Result<Unit> read_table(const TableShape& table, const RowTaker& take) = 0;
  // Position of the last event and batch of each row of a run's journal that is not sealed, in order, between begin()
  // and end().
  virtual Result<Unit> read_journal(int64_t run, const RowTaker& take) = 0;

  // What the database itself finds wrong with the table, a sentence each.
  virtual Result<std::vector<std::string>> complaints(const TableShape& table) = 0;
};

// Nothing that is added is there before finish(), which is all or nothing.
class RawTarget {
 public:
  virtual ~RawTarget() = default;
  virtual Result<Unit> begin_table(const TableShape& table) = 0;
  virtual Result<Unit> add(const RawRow& row) = 0;
  virtual Result<Unit> finish() = 0;
};

// `place` is sqlite:PATH or postgresql://…
Result<std::unique_ptr<RawSource>> open_source(const std::string& place);
// `conflict` unless the store there is empty, and no server uses it.
Result<std::unique_ptr<RawTarget>> open_target(const std::string& place);

}  // namespace sluice::store
