// The rows of a SQLite database, read beside whoever writes to it.
#pragma once

#include <map>
#include <unordered_map>

#include "store/journal_rows.h"
#include "store/upkeep/raw_database.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::store {

class SqliteRawSource final : public RawSource {
 public:
  // `invalid` when there is no database of ours of this program's schema.
  static Result<std::unique_ptr<SqliteRawSource>> open(const std::string& path);
  ~SqliteRawSource() override;

  Result<Unit> begin() override;
  void end() override;
  Result<Unit> read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) override;
  Result<Unit> read_table(const TableShape& table, const RowTaker& take) override;
  Result<Unit> read_journal(int64_t run, const RowTaker& take) override;
  Result<std::vector<std::string>> complaints(const TableShape& table) override;

  // All of it as it is now, in a database file of its own; whoever writes need not wait.
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

  Result<JournalRows> rows_of(int64_t run);
  // Rows that were written since the rows of their runs were.
  Result<Unit> find_later_rows();
  Result<Unit> read_runs(const TableShape& table, const RowTaker& take);
  Result<Unit> read_journals(const TableShape& table, const RowTaker& take);

  sqlite3* db_;
  std::unordered_map<std::string, sqlite3_stmt*, TextHash, std::equal_to<>> statements_;
  std::optional<std::map<int64_t, JournalRows>> open_rows_;  // of runs that are not over, at this moment
};

}  // namespace sluice::store
