// The writer's connection to PostgreSQL. What reads before it writes is a boundary, and holds the lock of the records;
// flow needs no lock but those it takes itself.
#pragma once

#include "store/pg_connection.h"
#include "store/sql_writer.h"

namespace sluice::store {

class PgWriteSide final : public WriteSide {
 public:
  explicit PgWriteSide(PgSession::Options options) : options_(std::move(options)) {}

  Result<Unit> reopen() override;
  Connection& db() override { return *db_; }  // of the last reopen() or begin()
  // Connects first, where the connection is gone.
  void begin(Work::Class wanted) override;
  void ended(bool /*committed*/) override {}
  std::optional<std::string> rest(bool /*idle*/) override { return std::nullopt; }

 private:
  PgSession::Options options_;
  std::unique_ptr<PgSession> session_;
  std::unique_ptr<PgConnection> db_;
};

}  // namespace sluice::store
