// The store: journals of runs and records (tenants, agents, conversations, files, tables …) in SQLite or PostgreSQL.
// Runs are written and read by the Journal that it is; records by functions over its Database, each declared once and
// written once for both databases (store/tenants.h and its neighbours).
//
// Called from the loop's thread; every answer comes back on the loop's thread, never from inside the call. Each
// operation is one transaction: all of it or none. Errors are those of journal/journal.h.
//
// It does not know what a state means, what a client sees, or when to retry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/callback.h"
#include "base/limits.h"
#include "base/result.h"
#include "journal/journal.h"
#include "model/model.h"
#include "store/bags.h"
#include "store/conversations.h"
#include "store/endpoints.h"
#include "store/executions.h"
#include "store/gates.h"
#include "store/launch_records.h"
#include "store/materials.h"
#include "store/questions.h"
#include "store/runs.h"
#include "store/tables.h"
#include "store/tenants.h"
#include "store/threads.h"
#include "store/workflows.h"
#include "world/world.h"

namespace sluice::store {

class Store : public journal::Journal {
 public:
  // The records.
  virtual Database& database() = 0;

  // Seals finished journals, drops idempotency keys older than `now` less 24 hours, executions that
  // expired before that and the rows of deleted tables, a bounded amount of it; says how many journals were sealed.
  // Called now and then.
  virtual void tidy_up(Timestamp now, Done<int> done) = 0;
};

struct SqliteOptions {
  std::string path;     // the database file
  bool strict = false;  // every commit a boundary
  int reader_count = 1;
};
// Opens or creates, migrates, and starts its threads.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options, world::Loop& loop, world::Metrics& metrics);

struct PostgresOptions {
  std::string url;     // postgresql://…; its password is in no error and no log
  model::NodeId node;  // of this server, among those that use the database
  int reader_count = 1;
  int64_t silent_ms_max = 1'500;  // a write that has no answer for so long: broken()
};
// Connects, migrates, and starts its threads. Every commit waits for the disk, flow too.
Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options, world::Loop& loop, world::Metrics& metrics);

}  // namespace sluice::store
