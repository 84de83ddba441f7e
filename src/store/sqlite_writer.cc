#include "store/sqlite_writer.h"

#include <sqlite3.h>

#include <chrono>

#include "store/sqlite_schema.h"

namespace sluice::store {

namespace {

constexpr std::size_t waiting_max = 50'000;  // a disk slower than its callers must not eat the memory
constexpr std::size_t group_max = 2'000;     // so that a long queue is answered as it goes

// The write-ahead log is emptied when it has grown by this many frames of 4 KiB since the last time;
// by fewer when nobody waits; and past the last figure even if readers must be waited for.
constexpr int busy_frame_count = 4'000;
constexpr int idle_frame_count = 1'000;
constexpr int frame_count_max = 40'000;

Error unknown_outcome(const std::string& cause) {
  return {ErrorKind::unavailable,
          "the database did not say whether it wrote; nothing is written until it is reopened (" + cause + ")"};
}

int64_t monotonic_us() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<Writer::Opened> Writer::open(const WriterOptions& options) {
  auto opened = Connection::open(options.path, Connection::Mode::writer);
  if (!opened) return opened.error();
  auto& db = *opened.value();
  if (const auto migrated = migrate(db); !migrated) return migrated.error();
  if (options.page_count_max_for_test > 0) {
    db.run(("PRAGMA max_page_count = " + std::to_string(options.page_count_max_for_test)).c_str());
  }
  OpenRuns open_runs;
  open_runs.load(db);
  if (db.failure()) return error_of(*db.failure());
  return Opened{std::move(opened).take(), std::move(open_runs)};
}

Writer::Writer(Opened opened, WriterOptions options, Postman& postman, world::Metrics& metrics)
    : options_(std::move(options)),
      postman_(postman),
      commits_(metrics.counter("sluice_store_commits_total", "Transactions committed.")),
      operations_(metrics.counter("sluice_store_operations_total", "Write operations that were in them.")),
      commit_time_(metrics.histogram("sluice_store_commit_seconds", "From the start of a group to its commit.")),
      queue_length_(metrics.gauge("sluice_store_queue_length", "Write operations that wait for the writer.")),
      db_(std::move(opened.db)),
      open_runs_(std::move(opened.open_runs)),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Writer::submit(std::unique_ptr<Work> work) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() < waiting_max) {
    waiting_.push_back(std::move(work));
    queue_length_.set(static_cast<int64_t>(waiting_.size()));
    lock.unlock();
    return wake_.notify_one();
  }
  lock.unlock();
  work->fail({ErrorKind::overloaded, "too much is waiting to be written"});
  WorkList refused;
  refused.push_back(std::move(work));
  postman_.deliver(std::move(refused));
}

void Writer::run() {
  for (;;) {
    auto group = take_group();
    if (group.empty()) return;
    if (group[0]->work_class() == Work::Class::reopen) {
      reopen(*group[0]);
    } else {
      commit(group);
    }
    postman_.deliver(std::move(group));
    checkpoint_if_due(busy_frame_count);
  }
}

// Everything that waits, up to a bound, or one reopening; nothing when it is time to stop.
WorkList Writer::take_group() {
  std::unique_lock lock(mutex_);
  if (waiting_.empty() && !stopping_) {
    lock.unlock();
    checkpoint_if_due(idle_frame_count);
    lock.lock();
  }
  wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  WorkList group;
  while (!waiting_.empty() && group.size() < group_max) {
    const bool is_reopening = waiting_.front()->work_class() == Work::Class::reopen;
    if (is_reopening && !group.empty()) break;
    group.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    if (is_reopening) break;
  }
  queue_length_.set(static_cast<int64_t>(waiting_.size()));
  return group;
}

void Writer::commit(WorkList& group) {
  const auto fail_all = [&](const Error& error) {
    for (const auto& work : group) work->fail(error);
  };
  if (broken()) return fail_all(unknown_outcome(broken_by_));
  const auto mishap = try_commit(group);
  if (!mishap) return;
  switch (mishap->failure.code) {
    case SQLITE_FULL:
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return fail_all(error_of(mishap->failure));
    case SQLITE_CONSTRAINT:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      if (mishap->while_committing) break;
      if (group.size() == 1) return fail_all(error_of(mishap->failure));
      // One of them is to blame. Each alone, so that only that one suffers.
      for (auto& work : group) {
        WorkList alone;
        alone.push_back(std::move(work));
        commit(alone);
        work = std::move(alone[0]);
      }
      return;
    default: break;
  }
  break_down(mishap->failure.what);
  fail_all(unknown_outcome(broken_by_));
}

std::optional<Writer::Mishap> Writer::try_commit(WorkList& group) {
  const int64_t began_us = monotonic_us();
  choose_synchronous(group);
  db_->run("BEGIN IMMEDIATE");
  for (const auto& work : group) {
    if (db_->failure()) break;
    work->attempt(*db_);
  }
  const bool while_committing = !db_->failure();
  db_->run("COMMIT");
  if (auto failure = db_->take_failure()) {
    db_->run("ROLLBACK");
    db_->take_failure();  // SQLite may have rolled back already
    open_runs_.undo_changes();
    return Mishap{*std::move(failure), while_committing};
  }
  open_runs_.keep_changes();
  commits_.add();
  operations_.add(group.size());
  commit_time_.observe_us(monotonic_us() - began_us);
  return std::nullopt;
}

// FULL syncs the log at each commit, and with it what earlier commits left unsynced; NORMAL leaves
// that to the kernel.
void Writer::choose_synchronous(const WorkList& group) {
  bool wants_full = options_.strict;
  for (const auto& work : group) wants_full = wants_full || work->work_class() == Work::Class::boundary;
  if (wants_full == is_synchronous_full_) return;
  db_->run(wants_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  is_synchronous_full_ = wants_full;
}

void Writer::break_down(std::string cause) {
  broken_by_ = std::move(cause);
  broken_ = true;
}

void Writer::reopen(Work& work) {
  db_.reset();
  break_down("it is being reopened");
  auto opened = open(options_);
  if (!opened) return work.fail(std::move(opened.error()).in("reopen the store"));
  db_ = std::move(opened.value().db);
  open_runs_ = std::move(opened.value().open_runs);
  is_synchronous_full_ = true;
  checkpointed_frame_count_ = 0;
  broken_ = false;
  generation_.fetch_add(1, std::memory_order_release);
  work.attempt(*db_);
}

void Writer::checkpoint_if_due(int frame_count_min) {
  if (broken()) return;
  const int frame_count = db_->wal_frame_count();
  // Fewer than last time: the log was begun anew since.
  if (frame_count < checkpointed_frame_count_) checkpointed_frame_count_ = 0;
  if (frame_count - checkpointed_frame_count_ < frame_count_min) return;
  db_->checkpoint(frame_count > frame_count_max ? Connection::Wait::for_readers : Connection::Wait::no);
  checkpointed_frame_count_ = frame_count;
  const auto failure = db_->take_failure();
  // What is committed is safe in the log either way, and a full disk may have room next time.
  if (failure && failure->code != SQLITE_FULL) break_down("checkpoint: " + failure->what);
}

}  // namespace sluice::store
