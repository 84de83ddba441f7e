// An empty SQLite store that is filled with rows from elsewhere: in a file beside it, which takes its place when whole.
#pragma once

#include "base/fd.h"
#include "store/journal_rows.h"
#include "store/upkeep/raw_database.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::store {

class SqliteRawTarget final : public RawTarget {
 public:
  static Result<std::unique_ptr<SqliteRawTarget>> open(const std::string& path);
  ~SqliteRawTarget() override;

  Result<Unit> begin_table(const TableShape& table) override;
  Result<Unit> add(const RawRow& row) override;
  Result<Unit> finish() override;

 private:
  SqliteRawTarget(std::string path, OwnedFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string draft() const { return path_ + ".importing"; }
  void remove_draft() const;
  Result<Unit> make_draft();
  Result<Unit> run(const char* sql);
  Result<Unit> step(sqlite3_stmt* statement);
  // Writes down where the rows of the journal are that was added last.
  Result<Unit> keep_journal_rows();
  Error failure() const;

  const std::string path_;
  OwnedFd lock_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::size_t column_count_ = 0;
  bool in_journal_ = false;
  int64_t journal_run_ = 0;
  JournalRows journal_rows_;
};

}  // namespace sluice::store
