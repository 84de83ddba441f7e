// The writer's connection to PostgreSQL. What reads before it writes is a boundary, and holds the lock of the records;
// flow needs no lock but those it takes itself.
#pragma once

#include "store/pg_bounds.h"
#include "store/pg_connection.h"
#include "store/sql_writer.h"

namespace sluice::store {

class PgWriteSide final : public WriteSide {
 public:
  PgWriteSide(std::string url, model::NodeId node) : url_(std::move(url)), node_(node) {}

  Result<Unit> reopen() override;
  Connection& db() override { return *db_; }  // of the last reopen() or begin()
  // Connects first, where the connection is gone.
  void begin(Work::Class wanted) override;
  void ended(bool /*committed*/) override { writing_.end(); }
  std::optional<std::string> rest(bool /*idle*/) override { return std::nullopt; }
  // From any thread: how long the write that is under way has been.
  int64_t writing_ms() const { return writing_.ms(); }

 private:
  const std::string url_;
  const model::NodeId node_;
  PgWriting writing_;
  std::unique_ptr<PgSession> session_;
  std::unique_ptr<PgConnection> db_;
};

}  // namespace sluice::store
