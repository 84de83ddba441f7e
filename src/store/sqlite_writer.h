// The one thread that writes. Whatever waits is committed together, at once: the commit under way
// is the window in which the next group gathers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "store/open_runs.h"
#include "store/sqlite_work.h"
#include "world/metrics.h"

namespace sluice::store {

struct WriterOptions {
  std::string path;
  bool strict = false;
  int64_t page_count_max_for_test = 0;  // as if the disk were full at this size; 0: it is not
};

class Writer {
 public:
  struct Opened {
    std::unique_ptr<Connection> db;
    OpenRuns open_runs;
  };
  // Opens or creates the database, brings it up to date, and finds the runs that are not over.
  static Result<Opened> open(const WriterOptions& options);

  Writer(Opened opened, WriterOptions options, Postman& postman, world::Metrics& metrics);
  // Writes what is still waiting.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void submit(std::unique_ptr<Work> work);
  // For the thread's own work, while it is tried.
  OpenRuns& open_runs() { return open_runs_; }
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // Grows with every reopening, so that readers know that they should, too.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Mishap {
    Failure failure;
    bool while_committing;
  };

  void run();
  WorkList take_group();
  void commit(WorkList& group);
  std::optional<Mishap> try_commit(WorkList& group);
  void break_down(std::string cause);
  void reopen(Work& work);
  void choose_synchronous(const WorkList& group);
  void checkpoint_if_due(int frame_count_min);

  WriterOptions options_;
  Postman& postman_;
  world::Counter& commits_;
  world::Counter& operations_;
  world::Histogram& commit_time_;
  world::Gauge& queue_length_;
  std::atomic<bool> broken_{false};
  std::atomic<uint64_t> generation_{1};

  // The thread's own.
  std::unique_ptr<Connection> db_;
  OpenRuns open_runs_;
  std::string broken_by_;
  bool is_synchronous_full_ = true;
  int checkpointed_frame_count_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Work>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::store
