// The writer's connection to a SQLite database, its log, and what its thread remembers of the runs that are not over.
#pragma once

#include <optional>

#include "store/log_pace.h"
#include "store/open_runs.h"
#include "store/sql_writer.h"
#include "store/sqlite_connection.h"

namespace sluice::store {

struct SqliteWriting {
  std::string path;
  bool strict = false;
  int64_t page_count_max_for_test = 0;                           // as if the disk were full at this size; 0: it is not
  std::optional<int64_t> search_ms_max_for_test = std::nullopt;  // instead of the usual one
  LogBounds log = {};
};

class SqliteWriteSide final : public WriteSide {
 public:
  // Opens or creates the database, brings it up to date, and finds the runs that are not over.
  static Result<std::unique_ptr<SqliteWriteSide>> open(SqliteWriting options, world::Metrics& metrics);

  Result<Unit> reopen() override;
  Connection& db() override { return *db_; }
  void begin(Work::Class wanted) override;
  void ended(bool committed) override;
  std::optional<std::string> rest(bool idle) override;

  // For the thread's own work, while it is tried.
  OpenRuns& open_runs() { return open_runs_; }

 private:
  SqliteWriteSide(SqliteWriting options, world::Metrics& metrics);
  void choose_synchronous(bool full);

  SqliteWriting options_;
  std::unique_ptr<SqliteConnection> db_;
  OpenRuns open_runs_;
  bool is_synchronous_full_ = true;
  LogPace log_pace_;
  world::Gauge& log_bytes_;
  world::Counter& log_waits_;
};

}  // namespace sluice::store
