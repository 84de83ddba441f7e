// The one thread of a server that writes its runs to PostgreSQL. Whatever waited while the last commit ran is the next
// group: one transaction, one or two ways there and back, however many operations it has.
//
// An operation that is refused takes nobody down with it: refusals are rows that a statement does not give. What the
// database itself refuses is tried again, the whole group or each alone, as long as it is certain that nothing was
// written. When that is not certain, every write is refused until reopen().
#pragma once

#include <atomic>
#include <thread>
#include <unordered_set>

#include "store/pg_bounds.h"
#include "store/pg_followed.h"
#include "store/pg_group.h"
#include "store/pg_news.h"
#include "store/waiting_works.h"

namespace sluice::store {

class PgAccepts;

struct PgHotOptions {
  std::string url;
  model::NodeId node;
};

class PgHot {
 public:
  // Makes events that are written Committed, which only a store may.
  using Committer = CommittedBatch (*)(std::vector<model::RunEvent> events, model::Position first);

  // `others` is true while this is not the only node: then it tells what moved, as far as they follow it.
  PgHot(PgHotOptions options, const std::atomic<bool>& others, LoopPoster& poster, world::Metrics& metrics,
        Committer committer);
  // Writes what is still waiting.
  ~PgHot();
  PgHot(const PgHot&) = delete;
  PgHot& operator=(const PgHot&) = delete;

  void accept(NewRun made, Done<AcceptOutcome> done);
  void append(Append append, Done<CommittedBatch> done);
  void create_conversation(NewConversation made, Done<ConversationOutcome> done);
  void take_over(model::RunId run, model::Epoch seen, Done<model::Run> done);
  void reopen(Done<Unit> done);
  // What another node follows.
  void heed(PgNews wish);
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // Broken, or the database did not write the last group, moments ago: it is full, read-only or away. Whether it writes
  // now shows when somebody writes.
  bool unwritable() const;
  // How long the group that is being written has been.
  int64_t writing_ms() const { return writing_.ms(); }

 private:
  struct Group {
    std::vector<AppendJob*> appends;
    std::vector<AcceptJob*> accepts;
    std::vector<ConversationJob*> conversations;
    std::vector<TakeOverJob*> takeovers;
    std::vector<const PgNews*> wishes;

    bool writes() const { return !appends.empty() || !accepts.empty() || !conversations.empty() || !takeovers.empty(); }
  };
  // What the works of one group may have only once among them: runs, conversations, keys.
  using Names = std::vector<std::string>;

  class HotWork {
   public:
    virtual ~HotWork() = default;
    virtual Names names() const = 0;
    virtual void join(Group& group) = 0;
    virtual bool is_reopening() const { return false; }
    // Instead: it did not work out.
    virtual void fail(Error error) = 0;
    // On the loop's thread, once.
    virtual void answer() = 0;
  };
  class AcceptWork;
  class AppendWork;
  class ConversationWork;
  class TakeOverWork;
  class ReopenWork;
  class WishWork;
  using HotList = std::vector<std::unique_ptr<HotWork>>;

  // The process of the database that serves a session.
  struct Backend {
    int64_t process = 0;
    int64_t started_us = 0;  // numbers of processes are given again
  };
  struct Mishap {
    PgFailure failure;
    bool is_unknown = false;  // it may have been written
  };

  void submit(std::unique_ptr<HotWork> work) { waiting_.submit(std::move(work)); }
  void run();
  HotList take_group();
  void commit(HotList& works);
  std::optional<Mishap> try_commit(HotList& works);
  std::optional<Mishap> write(Group& group);
  std::optional<Mishap> write_rest(const Group& group, const std::vector<AppendJob*>& at_gates, PgAccepts& accepts,
                                   PgAnswers& answers);
  // Sends what was joined with news and COMMIT; `take(answers)` when it is done.
  template <typename Take>
  std::optional<Mishap> send_commit(const Group& group, Take take);
  std::optional<Mishap> connect();
  std::optional<PgFailure> open_again();
  // What the session whose commit is in doubt was at is done or undone, for all to see, once its process is gone.
  std::optional<PgFailure> end_doubtful();
  // Before the commit was sent, and after.
  Mishap roll_back(PgFailure failure);
  Mishap fail_commit(PgFailure failure, std::size_t commit);
  void tell(const Group& group);
  void break_down(std::string cause);

  const PgHotOptions options_;
  const std::atomic<bool>& others_;
  LoopPoster& poster_;
  Committer committer_;
  world::Counter& commits_;
  world::Counter& operations_;
  world::Histogram& commit_time_;
  std::atomic<bool> broken_{false};
  std::atomic<int64_t> put_off_until_us_{0};  // so long it is said not to write
  PgWriting writing_;

  // The thread's own.
  std::unique_ptr<PgSession> session_;
  Backend backend_;                  // of the last session
  std::optional<Backend> doubtful_;  // that may commit yet what nobody waits for any more
  std::string broken_by_;
  PgFollowed followed_;

  WaitingWorks<HotWork> waiting_;
  std::thread thread_;
};

}  // namespace sluice::store
