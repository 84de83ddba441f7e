// One life of one simulated server: engine, store and loop, from its start to its death.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "store/simulated_store.h"
#include "tests/sim/fleet.h"
#include "tests/sim/node_loop.h"

namespace sluice::sim {

// The engine's log, for the trace.
class TraceLog final : public world::Log {
 public:
  TraceLog(Verdict& verdict, std::string who) : verdict_(verdict), who_(std::move(who)) {}
  bool wants(world::LogLevel) const override { return verdict_.is_told(); }
  void write(world::LogLevel level, std::string_view event, std::initializer_list<world::LogField> fields) override;

 private:
  Verdict& verdict_;
  std::string who_;
};

class Server final {
 public:
  struct Needs {
    world::FakeLoop& loop;
    store::SimulatedDatabase& disk;
    Fleet& fleet;
    Verdict& verdict;
    const vault::Sealer& sealer;
  };
  Server(Needs needs, std::string name, uint64_t seed, engine::EngineOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();
  // Nothing of it runs from here on. What it owned is dropped by bury(), when nothing of it is on the stack.
  void die();
  void bury();

  bool is_dead() const { return loop_.is_dead(); }
  bool is_buried() const { return engine_ == nullptr; }
  // Requests may be made.
  bool is_ready() const { return ready_ && !draining && !is_dead() && !loop_.is_stalled(); }
  const std::string& name() const { return name_; }
  model::NodeId node() const { return node_; }
  engine::Engine& engine() { return *engine_; }
  store::Store& store() { return *store_; }
  NodeLoop& loop() { return loop_; }
  Link& link() { return link_; }
  world::IdSource& ids() { return ids_; }
  // Runs that the periodic look has found, which nothing attended to.
  int64_t unattended_found() { return metrics_.counter("sluice_runs_unattended_total", "").value(); }

  bool cut_off = false;  // from the store
  bool disk_full = false;
  bool disk_has_little = false;  // when it is full: some transactions still fit
  bool draining = false;
  bool was_refused = false;  // a write, because another row was in its way
  bool wrote_late = false;   // a transaction of it, which it did not hear of

 private:
  Needs needs_;
  std::string name_;
  NodeLoop loop_;
  Link link_;
  ChanceEntropy entropy_;
  world::IdSource ids_;
  TraceLog log_;
  world::Metrics metrics_;
  model::NodeId node_;
  BoxDispatcher dispatcher_;
  engine::EngineOptions options_;
  std::unique_ptr<store::SimulatedStore> store_;
  std::unique_ptr<engine::Engine> engine_;
  bool ready_ = false;
};

}  // namespace sluice::sim
