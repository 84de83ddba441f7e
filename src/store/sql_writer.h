// What writes: one thread, as a rule. Whatever waits is committed together, at once: the commit under way
// is the window in which the next group gathers. A group ends after some milliseconds of work, so that nobody waits
// long for another's work. The journals of runs, which are the server's own, go first; then tenants take turns.
#pragma once

#include <atomic>
#include "store/waiting_works.h"

namespace sluice::store {

// The database as the writer's thread has it: what one kind does differently from another.
class WriteSide {
 public:
  virtual ~WriteSide() = default;
  // Closes what is open, and opens anew.
  virtual Result<Unit> reopen() = 0;
  virtual Connection& db() = 0;
  // The transaction of a group; the highest class of its works is wanted.
  virtual void begin(Work::Class wanted) = 0;
  virtual void commit() { db().commit(); }
  // It has ended: what is remembered of it counts, or is undone.
  virtual void ended(bool committed) = 0;
  // Between groups; `idle` when nobody waits. Why nothing may be written any more, if so.
  virtual std::optional<std::string> rest(bool idle) = 0;
};

class Writer {
 public:
  Writer(WriteSide& side, LoopPoster& poster, world::Metrics& metrics, const Executors& executors = thread_of_its_own);
  // Writes what is still waiting.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // `lane`: whose record it is, so that tenants take turns. All zero: the server's own, which goes before records.
  void submit(std::unique_ptr<Work> work, WaitingWorks<Work>::Lane lane = {}) {
    waiting_.submit(std::move(work), lane);
  }
  // Nothing is written until it is reopened.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // Broken, or it had no room for the last group, moments ago: whether there is now shows when somebody writes.
  bool unwritable() const;
  // Grows with every reopening, so that readers know that they should, too.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Mishap {
    Failure failure;
    bool while_committing;
  };

  bool turn();
  WorkList take_group();
  void put_back(WorkList& group, std::size_t begun);
  void commit(WorkList& group);
  std::optional<Mishap> try_commit(WorkList& group);
  void break_down(std::string cause);
  void reopen(Work& work);
  void rest(bool idle);

  WriteSide& side_;
  LoopPoster& poster_;
  world::Counter& commits_;
  world::Counter& operations_;
  world::Histogram& commit_time_;
  std::atomic<bool> broken_{false};
  std::atomic<int64_t> full_until_us_{0};  // so long it is said to be full
  std::atomic<uint64_t> generation_{1};

  std::string broken_by_;  // the executor's own

  WaitingWorks<Work> waiting_;
  std::vector<WaitingWorks<Work>::Lane> lanes_;  // of the group that was taken; the executor's own
  std::unique_ptr<Executor> executor_;
};

}  // namespace sluice::store
