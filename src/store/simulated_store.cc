#include "store/simulated_store.h"

#include <algorithm>
#include <iterator>

#include "store/sqlite_runs.h"

namespace sluice::store {

class SimulatedStore::Side final : public ReadSide {
 public:
  explicit Side(std::shared_ptr<Connection> db) : db_(std::move(db)) {}
  Result<std::shared_ptr<Connection>> open_reader() const override { return db_; }

 private:
  std::shared_ptr<Connection> db_;
};

SqliteStore::Parts SimulatedStore::parts_of(SimulatedServer& server) {
  Parts parts;
  parts.side = server.write_side(SimulatedServer::Waits::yes);
  parts.open_runs = &server.open_runs();
  parts.file = std::make_unique<Side>(server.connection());
  parts.readers = {server.connection()};
  // The store makes its sessions in this order.
  parts.executors = [&server, next = std::size_t{0}]() mutable {
    constexpr SessionKind order[] = {SessionKind::writer, SessionKind::readers, SessionKind::searchers};
    return server.executor(order[std::min(next++, std::size(order) - 1)]);
  };
  parts.is_alone = server.node() == model::NodeId{};
  return parts;
}

SimulatedStore::SimulatedStore(SimulatedDatabase& database, world::Loop& loop, model::NodeId node)
    : SimulatedParts(database, loop, node),
      SqliteStore(parts_of(server), server.answers(), metrics),
      nodes_side_(server.write_side(SimulatedServer::Waits::no)),
      nodes_(SqliteStore::database(), nodes_writer_, server),
      nodes_writer_(*nodes_side_, poster(), metrics, [this] { return server.executor(SessionKind::nodes); }) {
  server.notify(&nodes_);
}

void SimulatedStore::unfinished_runs(Done<UnfinishedRuns> done) {
  Done<UnfinishedRuns> dated = [this, done = std::move(done)](Result<UnfinishedRuns> found) mutable {
    if (found) found.value().now = server.database_now();
    done(std::move(found));
  };
  if (!server.separates_sessions()) return SqliteStore::unfinished_runs(std::move(dated));
  database().read(std::move(dated), [this](Connection& db) -> Result<UnfinishedRuns> {
    if (server.refuses_list()) return Error{ErrorKind::overloaded, "the database is busy"};
    auto runs = sql::unfinished_runs(db, server.open_runs());
    if (!runs) return runs.error();
    return UnfinishedRuns{std::move(runs).take(), {}};
  });
}

}  // namespace sluice::store
