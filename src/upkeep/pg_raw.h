// The rows of a store in PostgreSQL: read as they are at one moment, or written into an empty store in one transaction.
#pragma once

#include <vector>

#include "store/on_disk.h"
#include "upkeep/raw_database.h"

namespace sluice::upkeep {

class PgRawSource final : public RawSource {
 public:
  // `invalid` unless the schema is this program's.
  static Result<std::unique_ptr<PgRawSource>> open(const std::string& url);

  Result<Unit> begin() override;
  void end() override;
  Result<Unit> read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) override;
  Result<Unit> read_table(const TableShape& table, const RowTaker& take) override;
  Result<Unit> read_journal(int64_t run, const RowTaker& take) override;
  // Always empty: PostgreSQL checks a page only when it reads it, and reading reports that.
  Result<std::vector<std::string>> complaints(const TableShape& table) override;

  // `conflict` while a server sends heartbeats.
  Result<Unit> check_idle();

 private:
  explicit PgRawSource(std::unique_ptr<store::PgSession> session) : session_(std::move(session)) {}
  // Reads through a cursor, because all rows together need not fit into memory.
  Result<Unit> read_in_pieces(std::string_view sql, const RowTaker& take);
  Error take_failure();

  std::unique_ptr<store::PgSession> session_;
  bool in_moment_ = false;
};

class PgRawTarget final : public RawTarget {
 public:
  static Result<std::unique_ptr<PgRawTarget>> open(const std::string& url);

  Result<Unit> begin_table(const TableShape& table) override;
  Result<Unit> add(const RawRow& row) override;
  Result<Unit> finish() override;

 private:
  explicit PgRawTarget(std::unique_ptr<store::PgSession> session) : session_(std::move(session)) {}
  Result<Unit> prepare();
  // Inserts the rows that wait, in one statement.
  Result<Unit> flush();
  Result<Unit> run(const std::string& sql);

  std::unique_ptr<store::PgSession> session_;
  std::string insert_;
  std::vector<store::PgArray> columns_;
  bool is_view_ = false;  // the table is a view of the runs that are not over, so nothing is inserted
  std::size_t waiting_bytes_ = 0;
};

}  // namespace sluice::upkeep
