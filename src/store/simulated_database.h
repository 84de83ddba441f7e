// A SQLite database in memory for tests and the simulation: the shipped statements and the shipped schema, in one
// thread, and with misfortunes that are ordered. It outlives the stores on it, so a server that dies is a store that
// goes. Several stores may be on it at once, each a server of its own (simulated_store.h): what they hear of each
// other's commits is told from the rows that a transaction changed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "store/open_runs.h"
#include "store/sql_nodes.h"
#include "store/sqlite_connection.h"

namespace sluice::store {

enum class Fault : uint8_t {
  before_write,  // nothing is written, but the caller cannot know: `unavailable` until reopen()
  after_write,   // it is written, but the caller cannot know: `unavailable` until reopen()
  full,          // nothing is written, and the caller is told so: `overloaded`
  collides,      // nothing is written, because another row was in its way: `conflict`
  // The transaction is committed later, before any other: until then no reader sees it, and the caller cannot know.
  // This is a COMMIT that is still on its way when its server gives up, or dies. Only for stores that share the
  // database: no disk behaves like that.
  late,
};

// Decides the misfortunes of each server, and sees what becomes of the runs: for simulations.
class DatabaseWatch {
 public:
  virtual ~DatabaseWatch() = default;
  // What becomes of a write that this node is about to make; empty: it is made.
  virtual std::optional<Fault> on_write(model::NodeId by) = 0;
  // False: the node is cut off. Whatever it asks is refused, and it cannot reopen.
  virtual bool reaches(model::NodeId node) = 0;
  // How many times this node hears a piece of news.
  virtual int news_copies(model::NodeId to) = 0;
  // The list of unfinished runs, or something else, is to be read; true: not now, it is `overloaded`.
  virtual bool refuses_list(model::NodeId /*to*/) { return false; }
  virtual bool refuses_read(model::NodeId /*to*/) { return false; }
  // The run as a commit of this node's has left it.
  virtual void on_moved(model::NodeId by, const model::Run& run) = 0;
  // A beat of this node was committed.
  virtual void on_beat(model::NodeId /*by*/) {}
};

class SimulatedServer;

class SimulatedDatabase {
 public:
  SimulatedDatabase();
  ~SimulatedDatabase();
  SimulatedDatabase(const SimulatedDatabase&) = delete;
  SimulatedDatabase& operator=(const SimulatedDatabase&) = delete;

  // The n-th write from now fails; 0 is the next one.
  void fail_write(int n, Fault fault) { faults_[write_count_ + n] = fault; }
  // The next `count` times that a list of unfinished runs is asked for it is `overloaded`.
  void refuse_lists(int count) { refused_lists_ = count; }
  // The next `count` transactions that read are `overloaded`.
  void refuse_reads(int count) { refused_reads_ = count; }
  // Writes that were asked for so far, by every store on this database; without those of a store that is to be
  // reopened.
  int write_count() const { return write_count_; }
  // Reads that were asked for so far, by every store on this database.
  int read_count() const { return read_count_; }
  // Writes happen at once, but no answer arrives until answers are released.
  void hold_answers(bool held);
  // Nodes do not hear of each other's commits: they must look.
  void lose_news(bool lost) { loses_news_ = lost; }
  // Commits the late transaction, if there is one.
  void land();
  // What a server asks in one turn of its loop is written in one transaction, at the end of the turn.
  void gather(bool gathers) { gathers_ = gathers; }
  // Sees every write, and says what becomes of it.
  void be_watched(DatabaseWatch* watch) { watch_ = watch; }
  // As it was at first: no rows, and no misfortunes. While no store is on it.
  void wipe();

 private:
  friend class SimulatedServer;
  friend class SimulatedWriteSide;

  class InMemory;
  struct HeldAnswer {
    world::Loop* loop;
    Callback<void()> answer;
  };
  // What a transaction has changed, by the numbers of rows.
  struct Changes {
    std::set<int64_t> runs;
    std::vector<int64_t> journal;
    bool mail = false;
    bool beat = false;
  };
  struct Known {
    model::RunState state = model::RunState::accepted;
    model::Epoch epoch;
    model::Position head;
    bool operator==(const Known&) const = default;
  };

  struct Late {
    model::NodeId by;
    std::vector<std::string> statements;
  };
  bool reaches(model::NodeId node) const { return watch_ == nullptr || watch_->reaches(node); }
  bool refuses_list(model::NodeId to);
  bool refuses_read(model::NodeId to);
  std::optional<Fault> fault_of_next_write(model::NodeId by);
  void note_change(std::string_view table, int64_t number, bool is_insert);
  void forget_changes() { changes_ = {}; }
  // Tells the watch and the other servers.
  void publish(model::NodeId by);
  void publish_run(model::NodeId by, int64_t number, model::Position head);
  template <typename Tell>
  void tell_others(model::NodeId by, Tell tell, std::optional<model::RunId> followed = std::nullopt);

  std::unique_ptr<InMemory> db_;
  OpenRuns open_runs_;
  std::vector<SimulatedServer*> servers_;
  SimulatedServer* at_work_ = nullptr;  // whose operation is being done
  Changes changes_;
  std::unordered_map<int64_t, Known> known_;  // runs, by number, as far as somebody looked

  DatabaseWatch* watch_ = nullptr;
  bool loses_news_ = false;
  bool gathers_ = false;
  std::optional<Late> late_;
  int refused_lists_ = 0, refused_reads_ = 0;
  int write_count_ = 0, read_count_ = 0;
  std::map<int, Fault> faults_;  // by the count of the write that fails
  bool held_ = false;
  std::vector<HeldAnswer> held_answers_;
};

// One server's way to the database.
class SimulatedServer final {
 public:
  SimulatedServer(SimulatedDatabase& database, world::Loop& loop, model::NodeId node);
  ~SimulatedServer();
  SimulatedServer(const SimulatedServer&) = delete;
  SimulatedServer& operator=(const SimulatedServer&) = delete;

  model::NodeId node() const { return node_; }
  world::Loop& loop() { return loop_; }
  OpenRuns& open_runs() { return database_.open_runs_; }
  // Through this one answers go, and may be held up.
  world::Loop& answers() { return *answers_; }
  // Writers of runs and records wait for a late transaction; beats and mail do not.
  enum class Waits : uint8_t { yes, no };
  std::unique_ptr<WriteSide> write_side(Waits waits);
  std::shared_ptr<Connection> connection();
  std::unique_ptr<Executor> executor();
  void hear_news_for(const SqlNodes* nodes) { nodes_ = nodes; }

 private:
  friend class SimulatedDatabase;
  friend class SimulatedWriteSide;
  class Answers;
  class Inline;

  SimulatedDatabase& database_;
  world::Loop& loop_;
  const model::NodeId node_;
  std::unique_ptr<world::Loop> answers_;
  const SqlNodes* nodes_ = nullptr;
  std::shared_ptr<SimulatedServer*> alive_;  // shared with the news under way
};

}  // namespace sluice::store
