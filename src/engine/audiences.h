// Everyone outside who follows one live run: readers that stand at its head, and callers that wait only for its end.
// Readers of the same lines form an audience, for which each event is folded once.
//
// Called from the loop's thread. A follower may leave, take others with it, or end the run while it is being called.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "engine/engine.h"
#include "engine/tail.h"

namespace sluice::engine {

// A reader that has read a run's journal to the head, and is given what the run writes from there on.
class Follower {
 public:
  virtual ~Follower() = default;
  virtual bool is_full() const = 0;
  virtual void deliver(const SharedBytes& lines) = 0;
  // It is full: it gets nothing more, and reads the journal from where `fold` stands when it has room.
  virtual void fall_behind(const wire::Fold& fold) = 0;
  // The run is not this server's any more: the same, at once.
  virtual void continue_alone(const wire::Fold& fold) = 0;
  // `fold` has made the last line.
  virtual void end(const wire::Fold& fold) = 0;
  virtual void lose(const Error& why) = 0;
};

// One caller that waits for the end of a run. Dropping it stops waiting.
class EndWaiter final : public Waiting {
 public:
  EndWaiter(const model::Run& run, Callback<void(Result<wire::Ending>)> done)
      : tenant_(run.tenant_id), run_(run.id), done_(std::move(done)) {}

  model::TenantId tenant() const { return tenant_; }
  model::RunId run() const { return run_; }
  Ref<EndWaiter> ref() { return lifetime_.ref(*this); }

  // While another node carries the run.
  void follow(std::unique_ptr<Tail> tail) { tail_ = std::move(tail); }
  bool follows() const { return tail_ != nullptr; }

  // Once. The waiter may be gone when this returns.
  void answer(Result<wire::Ending> ending) {
    tail_.reset();
    if (done_) std::exchange(done_, nullptr)(std::move(ending));
  }

 private:
  const model::TenantId tenant_;
  const model::RunId run_;
  Callback<void(Result<wire::Ending>)> done_;
  std::unique_ptr<Tail> tail_;
  Lifetime lifetime_;
};

class Audiences final {
 public:
  // `lifetime` is that of the run.
  explicit Audiences(const Lifetime& lifetime) : lifetime_(lifetime) {}

  // The first events of a run that was accepted just now: its first reader need not ask the store for them.
  void keep_opening(journal::CommittedBatch opening) { opening_ = std::move(opening); }
  void drop_opening() { journal::CommittedBatch().swap(opening_); }
  const journal::CommittedBatch& opening() const { return opening_; }

  // The follower's fold stands at the run's head; from here on the follower gets what is written.
  void attach(Follower& follower, const wire::Fold& fold, const wire::View& view);
  void detach(Follower& follower);
  void add_waiter(Ref<EndWaiter> waiter);

  // The run may be gone when one of these returns.
  void send(const journal::CommittedBatch& news);
  // The terminal event has been sent.
  void end();
  void lose(const Error& why);
  // Another node continues the run: its readers read on alone, and its waiters are returned.
  std::vector<Ref<EndWaiter>> hand_over();

 private:
  struct Audience {
    wire::Format format;
    int64_t segment, after;  // after: -1 when every line of the fold is for them
    wire::Fold fold;
    std::vector<Follower*> followers;  // null: has left
  };

  void send_to(Audience& audience, const journal::CommittedBatch& news);
  template <typename Farewell>
  void dismiss(Audience& audience, Farewell farewell);
  template <typename Farewell>
  void dismiss_all(Farewell farewell);
  void answer_waiters(const Result<wire::Ending>& ending);
  void forget_empty();

  const Lifetime& lifetime_;
  journal::CommittedBatch opening_;
  // Each has its own memory, because a follower that is called may attach another one.
  std::vector<std::unique_ptr<Audience>> audiences_;
  std::vector<Ref<EndWaiter>> waiters_;
  std::unique_ptr<const wire::Ending> ending_;  // on the heap, because a parked run has none
  bool is_calling_ = false;                     // audiences are walked through: empty ones are forgotten afterwards
};

}  // namespace sluice::engine
