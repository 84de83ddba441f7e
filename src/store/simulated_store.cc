#include "store/simulated_store.h"

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
  parts.executors = [&server] { return server.executor(); };
  parts.is_alone = server.node() == model::NodeId{};
  return parts;
}

SimulatedStore::SimulatedStore(SimulatedDatabase& database, world::Loop& loop, model::NodeId node)
    : SimulatedParts(database, loop, node),
      SqliteStore(parts_of(server), server.answers(), metrics),
      nodes_side_(server.write_side(SimulatedServer::Waits::no)),
      nodes_(SqliteStore::database(), nodes_writer_, server.open_runs(), node, server.loop()),
      nodes_writer_(*nodes_side_, poster(), metrics, [this] { return server.executor(); }) {
  server.hear_news_for(&nodes_);
}

}  // namespace sluice::store
