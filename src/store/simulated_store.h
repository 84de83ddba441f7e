// A store on a SimulatedDatabase: the shipped SqliteStore, which writes and reads in the thread that asks and answers
// on its loop.
#pragma once

#include "store/simulated_database.h"
#include "store/sqlite_store.h"

namespace sluice::store {

// What the store is made of, made before it.
struct SimulatedParts {
  SimulatedParts(SimulatedDatabase& database, world::Loop& loop, model::NodeId node) : server(database, loop, node) {}
  SimulatedServer server;
  world::Metrics metrics;
};

class SimulatedStore final : private SimulatedParts, public SqliteStore {
 public:
  // Those with a `node` share the database. One without is the only one that carries runs.
  SimulatedStore(SimulatedDatabase& database, world::Loop& loop, model::NodeId node = {});
  ~SimulatedStore() override { server.hear_news_for(nullptr); }

  Nodes& nodes() override { return nodes_; }

 private:
  class Side;
  static Parts parts_of(SimulatedServer& server);

  std::unique_ptr<WriteSide> nodes_side_;
  SqlNodes nodes_;
  Writer nodes_writer_;  // goes first: what still waits for it is written, and uses the others
};

}  // namespace sluice::store
