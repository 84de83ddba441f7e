// Tidies a store that is kept in a SQL database: seals the journals of runs that are over, drops what is too old, and
// deletes the rows of deleted tables.
//
// Reading and packing is a reader's work and takes no lock. The writer, for which everything waits, moves what is
// packed in slices of some milliseconds, each a transaction of its own, so that other operations have their turn in
// between. A journal longer than a part is sealed from its beginning on: until its last part is moved, its first events
// are in sealed_journals and the others in journal, and readers take them in this order.
#pragma once

#include <memory>
#include <set>

#include "store/sql_journal.h"
#include "store/sql_readers.h"
#include "store/sql_writer.h"

namespace sluice::store {

// What waits to be tidied up; each figure is counted up to `backlog_count_max`.
inline constexpr int backlog_count_max = 100'000;
struct Backlog {
  int64_t unsealed_runs = 0;
  std::optional<Timestamp> oldest_end;  // when the first of them ended
  int64_t expired_keys = 0;
  int64_t expired_executions = 0;
  int64_t deleted_rows = 0;  // of tables, and these tables; all of them are counted
};

// Some consecutive events of a journal, packed; the writer moves them all or none.
struct PackedPart {
  int64_t run = 0;           // the number of its row
  bool begins_plan = false;  // the first part of this run in the plan
  bool completes = false;    // the whole journal is sealed with it
  model::Position from;      // the events up to here are sealed already
  model::Position upto;      // the last of these events
  std::vector<sql::SealedRow> sealed;
  std::vector<int64_t> rows;  // SQLite: the numbers of the journal's rows that hold these events
  std::string rest;           // SQLite: the list of the rows after them
};

struct TidyPlan {
  Backlog backlog;
  std::vector<PackedPart> parts;
  std::set<int64_t> damaged;  // numbers of runs that are passed over, because their journals cannot be read
};

// Cuts journals into the parts of a plan, until the plan has as much as one round of tidying up may hold in memory.
class Packing {
 public:
  // `plan` outlives it; what it had in it goes, but for the runs that are damaged.
  explicit Packing(TidyPlan& plan);

  bool is_full() const { return page_bytes_ >= plan_bytes_max; }
  // Between begin() and end() or give_up(): the rows of one journal after `from`, in order.
  void begin(int64_t run, model::Position from);
  // `corrupt` when it is no batch, or not the next one.
  Result<Unit> add(std::string_view batch, model::Position last, int64_t row_number = 0);
  // `completes`: these were all of its rows.
  void end(bool completes);
  // It cannot be read: it stays as it is, and is passed over from now on if `db` says that this is its own damage.
  void give_up(const Connection& db);

 private:
  static constexpr std::size_t plan_bytes_max = std::size_t{8} * 1024 * 1024;
  void close_part();

  TidyPlan& plan_;
  Packer packer_;
  std::optional<sql::Sealing> sealing_;
  PackedPart part_;
  std::size_t first_part_ = 0;  // of this run
  std::size_t page_bytes_ = 0;
};

// What one kind of database does differently from another. Has no state, so any thread may use it.
class TidySide {
 public:
  virtual ~TidySide() = default;
  // In a reader's transaction: measures the backlog, and packs what is to be sealed next.
  virtual void make_plan(Connection& db, Timestamp now, TidyPlan& plan) const = 0;
  // In a transaction of the writer. False: another server is at it.
  virtual bool may_tidy(Connection& db) const = 0;
  // What idempotency keys are as old as.
  virtual Timestamp now_of_keys(Connection& db, Timestamp now) const = 0;
  // Moves a part, unless the journal is not what it was when the part was packed.
  virtual bool move(Connection& db, const PackedPart& part) const = 0;

 protected:
  // Runs that wait to be sealed, those that ended first first; `condition` tells them.
  void measure(Connection& db, Timestamp now, std::string_view condition, TidyPlan& plan) const;
  static std::vector<int64_t> runs_to_seal(Connection& db, std::string_view condition, const TidyPlan& plan);
};

class Tidying {
 public:
  // `side` outlives the threads of `writer` and `readers`.
  Tidying(const TidySide& side, Writer& writer, Readers& readers, world::Metrics& metrics);

  // One round: how many journals were sealed or, where they are long, went on to be.
  void tidy_up(Timestamp now, Done<int> done);

 private:
  struct Round {
    Timestamp now;
    TidyPlan plan;
    Done<int> done;
    int touched = 0;
    int64_t sealed = 0;
    int64_t dropped_rows = 0;
  };
  struct Dropped {
    int64_t keys = 0;
    int64_t executions = 0;
  };
  struct Slice {
    std::size_t end = 0;  // of the parts that it went through
    int touched = 0;
    int64_t sealed = 0;
  };

  void drop_old(const std::shared_ptr<Round>& round);
  void drop_rows(const std::shared_ptr<Round>& round);
  void seal(const std::shared_ptr<Round>& round, std::size_t begin);
  void finish(Round& round);
  void show(const Backlog& backlog, Timestamp now);
  static Dropped drop_slice(Connection& db, const TidySide& side, Timestamp now);
  static int64_t drop_rows_slice(Connection& db, const TidySide& side, int64_t most);
  static Slice move_slice(Connection& db, const TidySide& side, const TidyPlan& plan, std::size_t begin);
  template <typename T, typename Attempt>
  void write(Done<T> done, Attempt attempt, Ulid lane = {}) {
    writer_.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::flow, std::move(attempt), std::move(done)),
                   lane);
  }

  const TidySide& side_;
  Writer& writer_;
  Readers& readers_;
  std::set<int64_t> damaged_;
  world::Counter& sealed_journals_;
  world::Gauge& unsealed_runs_;
  world::Gauge& unsealed_seconds_;
  world::Gauge& expired_keys_;
  world::Gauge& expired_executions_;
  world::Gauge& deleted_rows_;
};

}  // namespace sluice::store
