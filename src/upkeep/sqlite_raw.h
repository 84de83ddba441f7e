// The rows of a store in SQLite: read beside a server that writes to it, or written into an empty store.
#pragma once

#include <map>
#include <unordered_map>

#include "base/fd.h"
#include "store/on_disk.h"
#include "upkeep/raw_database.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::upkeep {

class SqliteRawSource final : public RawSource {
 public:
  // `invalid` unless the file is a database of this program with the current schema.
  static Result<std::unique_ptr<SqliteRawSource>> open(const std::string& path);
  ~SqliteRawSource() override;

  Result<Unit> begin() override;
  void end() override;
  Result<Unit> read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) override;
  Result<Unit> read_table(const TableShape& table, const RowTaker& take) override;
  Result<Unit> read_journal(int64_t run, const RowTaker& take) override;
  Result<std::vector<std::string>> complaints(const TableShape& table) override;

  // Copies the database as it is now into another file. A server that writes meanwhile need not wait.
  Result<Unit> copy_to(const std::string& path);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  explicit SqliteRawSource(sqlite3* db) : db_(db) {}
  Result<Unit> check_owner();
  Result<sqlite3_stmt*> prepare(std::string_view sql);
  Error failure() const;

  Result<store::JournalRows> rows_of(int64_t run);
  // Finds the journal rows that are newer than the list in their run's row, which is written less often.
  Result<Unit> find_later_rows();
  Result<Unit> read_runs(const TableShape& table, const RowTaker& take);
  Result<Unit> read_journals(const TableShape& table, const RowTaker& take);

  sqlite3* db_;
  std::unordered_map<std::string, sqlite3_stmt*, TextHash, std::equal_to<>> statements_;
  std::optional<std::map<int64_t, store::JournalRows>> open_rows_;  // of runs that are not over, at this moment
};

// Fills a file beside the database, which takes the place of the empty database when it is complete.
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
  // Writes the list of rows of the journal that was added last into its run's row.
  Result<Unit> keep_journal_rows();
  Error failure() const;

  const std::string path_;
  OwnedFd lock_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::size_t column_count_ = 0;
  bool in_journal_ = false;
  int64_t journal_run_ = 0;
  store::JournalRows journal_rows_;
};

}  // namespace sluice::upkeep
