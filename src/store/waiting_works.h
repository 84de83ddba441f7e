// Operations on their way from the loop to the threads that do them. Those who ask take turns, so that one tenant's
// thousand operations do not delay another tenant's one.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/ids.h"
#include "base/turns.h"
#include "store/executor.h"
#include "store/sql_work.h"
#include "world/metrics.h"

namespace sluice::store {

// `Kind` can fail(Error) and answer().
template <typename Kind>
class WaitingWorks {
 public:
  using List = std::vector<std::unique_ptr<Kind>>;

  // Who asks: a tenant, as a rule; all zero: the server itself.
  using Lane = Ulid;
  // A database slower than its callers must not eat the memory.
  static constexpr std::size_t waiting_max = 50'000;

  // `length`, if there is one, is how many wait, here and wherever else it is counted.
  WaitingWorks(Postman& postman, std::string refusal, world::Gauge* length)
      : postman_(postman), refusal_(std::move(refusal)), length_(length) {}

  // How many operations of one lane may wait, and what is said of more. Not of the server's own. Before the first.
  void bound_lanes(std::size_t lane_max, Error refusal) {
    lane_max_ = lane_max;
    lane_refusal_ = std::move(refusal);
  }

  // Told of each operation that waits; take() does not wait unless it may. Before the first.
  void notify(Executor& executor) { executor_ = &executor; }

  // From any thread. What is too much is answered so. Operations of one lane are taken in their order.
  void submit(std::unique_ptr<Kind> work, Lane lane = {}) {
    std::unique_lock lock(mutex_);
    if (waiting_.size() >= waiting_max) {
      lock.unlock();
      return refuse(std::move(work), {ErrorKind::overloaded, refusal_});
    }
    if (lane != Lane{} && waiting_.waiting_in(lane) >= lane_max_) {
      lock.unlock();
      return refuse(std::move(work), lane_refusal_);
    }
    waiting_.push(lane, std::move(work));
    count(1);
    lock.unlock();
    wake_.notify_one();
    if (executor_ != nullptr) executor_->notify();
  }

  // Nothing waits, and more may come.
  bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && !stopping_;
  }

  // Waits until there are some, where the executor may wait, and takes them in their turn: at most `most`, and none
  // from the first on of which `fits(work, taken)` is false. Nothing when all are done that came before stop().
  template <typename Fits>
  List take(std::size_t most, Fits fits) {
    std::unique_lock lock(mutex_);
    if (executor_ == nullptr || executor_->may_wait()) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    }
    List taken;
    while (!waiting_.empty() && taken.size() < most && fits(*waiting_.front(), taken)) taken.push_back(waiting_.pop());
    count(-static_cast<int64_t>(taken.size()));
    return taken;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
  }

 private:
  void refuse(std::unique_ptr<Kind> work, Error why) {
    work->fail(std::move(why));
    List refused;
    refused.push_back(std::move(work));
    postman_.deliver(std::move(refused));
  }

  void count(int64_t more) {
    if (length_ != nullptr) length_->add(more);
  }

  Postman& postman_;
  const std::string refusal_;
  world::Gauge* length_;
  Executor* executor_ = nullptr;  // of whoever takes them; empty: a thread of the owner's
  std::size_t lane_max_ = waiting_max;
  Error lane_refusal_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Turns<Lane, std::unique_ptr<Kind>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                       // guarded by mutex_
};

}  // namespace sluice::store
