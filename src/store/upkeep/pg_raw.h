// A store in PostgreSQL as upkeep sees it: rows out of it at one moment, rows into an empty one in one transaction.
#pragma once

#include <vector>

#include "store/pg_session.h"
#include "store/upkeep/raw_database.h"

namespace sluice::store {

constexpr int raw_answer_ms_max = 600'000;  // a large table takes its time

class PgRawSource final : public RawSource {
 public:
  // `invalid` unless its schema is this program's.
  static Result<std::unique_ptr<PgRawSource>> open(const std::string& url);

  Result<Unit> begin() override;
  void end() override;
  Result<Unit> read(std::string_view sql, std::span<const Cell> values, const RowTaker& take) override;
  Result<Unit> read_table(const TableShape& table, const RowTaker& take) override;
  Result<Unit> read_journal(int64_t run, const RowTaker& take) override;
  // What its pages are like, PostgreSQL knows when it reads them.
  Result<std::vector<std::string>> complaints(const TableShape& table) override;

  // `conflict` while a server beats.
  Result<Unit> check_idle();

 private:
  explicit PgRawSource(std::unique_ptr<PgSession> session) : session_(std::move(session)) {}
  // In pieces: the rows need not fit into memory.
  Result<Unit> read_in_pieces(std::string_view sql, const RowTaker& take);
  Error take_failure();

  std::unique_ptr<PgSession> session_;
  bool in_moment_ = false;
};

class PgRawTarget final : public RawTarget {
 public:
  static Result<std::unique_ptr<PgRawTarget>> open(const std::string& url);

  Result<Unit> begin_table(const TableShape& table) override;
  Result<Unit> add(const RawRow& row) override;
  Result<Unit> finish() override;

 private:
  explicit PgRawTarget(std::unique_ptr<PgSession> session) : session_(std::move(session)) {}
  Result<Unit> prepare();
  // What waits, in one statement.
  Result<Unit> flush();
  Result<Unit> run(const std::string& sql);

  std::unique_ptr<PgSession> session_;
  std::string insert_;
  std::vector<PgArray> columns_;
  bool is_view_ = false;  // filled with the runs that are not over
  std::size_t waiting_bytes_ = 0;
};

}  // namespace sluice::store
