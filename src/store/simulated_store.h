// A store on a SimulatedDatabase: the shipped SqliteStore, which writes and reads in the thread that asks and answers
// on its loop.
#pragma once

#include "store/simulated_database.h"
#include "store/sqlite_store.h"

namespace sluice::store {

// The base of the store, which is constructed before it.
struct SimulatedParts {
  SimulatedParts(SimulatedDatabase& database, world::Loop& loop, model::NodeId node) : server(database, loop, node) {}
  SimulatedServer server;
  world::Metrics metrics;
};

class SimulatedStore final : private SimulatedParts, public SqliteStore {
 public:
  // Stores with a `node` share the database. One without is the only one that carries runs.
  SimulatedStore(SimulatedDatabase& database, world::Loop& loop, model::NodeId node = {});
  ~SimulatedStore() override { server.notify(nullptr); }

  void unfinished_runs(Done<UnfinishedRuns> done) override;
  Nodes& nodes() override { return nodes_; }

 private:
  class Side;
  static Parts parts_of(SimulatedServer& server);

  std::unique_ptr<WriteSide> nodes_side_;
  SimulatedNodes nodes_;
  Writer nodes_writer_;  // destroyed first: it writes what still waits, and uses the others
};

}  // namespace sluice::store
