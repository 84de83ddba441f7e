// A SQLite database in memory for tests and the simulation: the shipped statements and the shipped schema, in one
// thread, with faults that a test orders. It outlives the stores that use it, so the death of a server is the end of
// its store. Several stores may use it at once, each as a server of its own (simulated_store.h): notifications of other
// servers' commits are made from the rows that a transaction changed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/lifetime.h"
#include "store/open_runs.h"
#include "store/simulated_nodes.h"
#include "store/sqlite_connection.h"

namespace sluice::store {

enum class Fault : uint8_t {
  before_write,  // nothing is written, but the caller cannot know: `unavailable` until reopen()
  after_write,   // it is written, but the caller cannot know: `unavailable` until reopen()
  full,          // nothing is written, and the caller learns it: `overloaded`
  collides,      // nothing is written, because another row was in its way: `conflict`
  // One of its statements meets a row that another transaction has written meanwhile. The transaction is undone, those
  // of other servers that wait are committed, and it is tried again.
  overlaps,
  // The transaction is committed later, before any other: until then no reader sees it, and the caller cannot know.
  // This is a COMMIT that is still on its way when its server gives up, or dies. Only for stores that share the
  // database: no disk behaves like that.
  late,
};

// A server's connections: each executes its operations in order, whatever the others do meanwhile.
enum class SessionKind : uint8_t { writer, readers, searchers, nodes };
inline constexpr std::size_t session_kind_count = 4;

// Decides the faults of each server, and sees what becomes of the runs: for simulations.
class DatabaseWatch {
 public:
  virtual ~DatabaseWatch() = default;
  // The fault of a write that this node is about to make; empty: it is made.
  virtual std::optional<Fault> on_write(model::NodeId by) = 0;
  // False: the node is cut off. Whatever it asks is refused, and it cannot reopen.
  virtual bool reaches(model::NodeId node) = 0;
  // How many copies of a notification reach this node.
  virtual int news_copies(model::NodeId to) = 0;
  // How long the session waits before it executes what it was asked, and how long the answers of what it executed take.
  virtual int64_t operation_delay_ms(model::NodeId /*of*/, SessionKind /*session*/) { return 0; }
  virtual int64_t answer_delay_ms(model::NodeId /*of*/, SessionKind /*session*/) { return 0; }
  // The list of unfinished runs, or something else, is to be read; true: not now, it is `overloaded`.
  virtual bool refuses_list(model::NodeId /*to*/) { return false; }
  virtual bool refuses_read(model::NodeId /*to*/) { return false; }
  // The run as a commit of this node's has left it.
  virtual void on_moved(model::NodeId by, const model::Run& run) = 0;
  // A beat of this node was committed.
  virtual void on_beat(model::NodeId /*by*/) {}
  // A commit has posted, or answered, a request between servers.
  virtual void on_mail_posted() {}
  // A power cut took events of the run; these are left. Its state and epoch are as they were.
  virtual void on_events_lost(model::RunId /*run*/, model::Position /*left*/) {}
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
  // Nodes receive no notifications of each other's commits: they must look.
  void lose_news(bool lost) { loses_news_ = lost; }
  // Commits the late transaction, if there is one.
  void land();
  // As with PostgreSQL: readers list the unfinished runs, and claims are written by the session of heartbeats. So
  // neither waits for the writer of runs.
  void separate_sessions(bool separate) { separates_sessions_ = separate; }
  // The database's wall clock changes, and no server's does.
  void step_clock(int64_t ms) { clock_step_ms_ += ms; }

  // ── power cuts ──
  // From now on everything that a power cut needs is remembered. With `strict` durability every commit is synced.
  enum class Durability : uint8_t { standard, strict };
  void prepare_power_cuts(Durability durability);
  // Commits of flow that no later boundary has synced, oldest first: this many of them could be lost.
  std::size_t unsynced_count() const { return unsynced_.size(); }
  // The machine loses its power and starts again: of the unsynced commits the first `kept` are left. No store may use
  // the database.
  void cut_power(std::size_t kept);

  // How many rows a statement counts.
  int64_t count(std::string_view sql);
  // All writes that a server asks for in one turn of its loop are one transaction, at the end of the turn.
  void gather(bool gathers) { gathers_ = gathers; }
  // Sees every write, and decides its fault.
  void be_watched(DatabaseWatch* watch) { watch_ = watch; }
  // As it was at first: no rows, and no faults. No store may use the database.
  void wipe();

 private:
  friend class SimulatedServer;
  friend class SimulatedWriteSide;

  class InMemory;
  using Bytes = std::vector<unsigned char>;
  using Statements = std::vector<std::string>;
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
    Statements statements;
  };
  bool reaches(model::NodeId node) const { return watch_ == nullptr || watch_->reaches(node); }
  bool refuses_list(model::NodeId to);
  bool refuses_read(model::NodeId to);
  std::optional<Fault> fault_of_next_write(model::NodeId by);
  void note_change(std::string_view table, int64_t number, bool is_insert);
  void forget_changes() { changes_ = {}; }
  void note_flow(Statements statements);
  void note_sync();
  void report_lost_events();
  // Executes what the sessions of other servers are about to execute.
  void let_others_write(const SimulatedServer& server);
  // Notifies the watch and the other servers.
  void publish(model::NodeId by);
  void publish_run(model::NodeId by, int64_t number, model::Position head);
  template <typename Notify>
  void notify_others(model::NodeId by, Notify notify, std::optional<model::RunId> followed = std::nullopt);

  std::unique_ptr<InMemory> db_;
  OpenRuns open_runs_;
  std::vector<SimulatedServer*> servers_;
  SimulatedServer* at_work_ = nullptr;  // the server whose operation is being executed
  SessionKind session_at_work_ = SessionKind::writer;
  Changes changes_;
  std::unordered_map<int64_t, Known> known_;  // runs, by number, as the watch and the servers know them

  DatabaseWatch* watch_ = nullptr;
  bool loses_news_ = false;
  bool gathers_ = false;
  bool separates_sessions_ = false;
  int64_t clock_step_ms_ = 0;
  std::optional<Late> late_;
  std::optional<Durability> durability_;  // empty: no power cuts are prepared for
  std::optional<Bytes> synced_;           // the database before the first unsynced commit
  std::vector<Statements> unsynced_;      // of each unsynced commit
  int refused_lists_ = 0, refused_reads_ = 0;
  int write_count_ = 0, read_count_ = 0;
  std::map<int, Fault> faults_;  // by the count of the write that fails
  bool held_ = false;
  std::vector<HeldAnswer> held_answers_;
};

// One server's connection to the database.
class SimulatedServer final {
 public:
  SimulatedServer(SimulatedDatabase& database, world::Loop& loop, model::NodeId node);
  ~SimulatedServer();
  SimulatedServer(const SimulatedServer&) = delete;
  SimulatedServer& operator=(const SimulatedServer&) = delete;

  model::NodeId node() const { return node_; }
  world::Loop& loop() { return loop_; }
  OpenRuns& open_runs() { return database_.open_runs_; }
  // Answers go through this loop, and may be held up.
  world::Loop& answers() { return *answers_; }
  // By the database's wall clock.
  Timestamp database_now() const { return {loop_.now().ms + database_.clock_step_ms_}; }
  bool separates_sessions() const { return database_.separates_sessions_; }
  bool refuses_list() { return database_.refuses_list(node_); }
  // Writers of runs and records wait for a late transaction; beats and mail do not.
  enum class Waits : uint8_t { yes, no };
  std::unique_ptr<WriteSide> write_side(Waits waits);
  std::shared_ptr<Connection> connection();
  std::unique_ptr<Executor> executor(SessionKind session);
  // Notifications go to this object.
  void notify(const SimulatedNodes* nodes) { nodes_ = nodes; }

 private:
  friend class SimulatedDatabase;
  friend class SimulatedWriteSide;
  class Answers;
  class Inline;

  SimulatedDatabase& database_;
  world::Loop& loop_;
  const model::NodeId node_;
  std::unique_ptr<world::Loop> answers_;
  const SimulatedNodes* nodes_ = nullptr;
  std::vector<Inline*> sessions_;
  Lifetime lifetime_;
};

}  // namespace sluice::store
