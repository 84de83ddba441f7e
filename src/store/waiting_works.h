// Operations on their way from the loop to the threads that do them. Those who ask take turns, so that one tenant's
// thousand operations do not delay another tenant's one.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>

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
  WaitingWorks(LoopPoster& poster, std::string refusal, world::Gauge* length)
      : poster_(poster), refusal_(std::move(refusal)), length_(length) {}

  // How many operations of one lane may wait, and what is said of more. Not of the server's own. Before the first.
  void bound_lanes(std::size_t lane_max, Error refusal) {
    lane_max_ = lane_max;
    lane_refusal_ = std::move(refusal);
  }

  // The server's own operations do not take turns with the lanes: they are taken first. Before the first.
  void put_own_first() { own_is_first_ = true; }

  // Told of each operation that waits; take() does not wait unless it may. Before the first.
  void notify(Executor& executor) { executor_ = &executor; }

  // From any thread. What is too much is answered so. Operations of one lane are taken in their order.
  void submit(std::unique_ptr<Kind> work, Lane lane = {}) {
    std::unique_lock lock(mutex_);
    if (count_waiting() >= waiting_max) {
      lock.unlock();
      return refuse(std::move(work), {ErrorKind::overloaded, refusal_});
    }
    if (lane != Lane{} && waiting_.waiting_in(lane) >= lane_max_) {
      lock.unlock();
      return refuse(std::move(work), lane_refusal_);
    }
    if (own_is_first_ && lane == Lane{}) {
      own_.push_back(std::move(work));
    } else {
      waiting_.push(lane, std::move(work));
    }
    count(1);
    lock.unlock();
    wake_.notify_one();
    if (executor_ != nullptr) executor_->notify();
  }

  // Nothing waits, and more may come.
  bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return count_waiting() == 0 && !stopping_;
  }

  // Waits until there are some, where the executor may wait, and takes them in their turn: at most `most`, and none
  // from the first on of which `fits(work, taken)` is false. Nothing when all are done that came before stop().
  // `lanes`, if there is one, becomes the lane of each.
  template <typename Fits>
  List take(std::size_t most, Fits fits, std::vector<Lane>* lanes = nullptr) {
    std::unique_lock lock(mutex_);
    if (executor_ == nullptr || executor_->may_wait()) {
      wake_.wait(lock, [this] { return stopping_ || count_waiting() > 0; });
    }
    List taken;
    if (lanes != nullptr) lanes->clear();
    while (count_waiting() > 0 && taken.size() < most) {
      const bool is_own = !own_.empty() && (!lane_is_next_ || waiting_.empty());
      if (!fits(is_own ? *own_.front() : *waiting_.front(), taken)) break;
      lane_is_next_ = false;
      if (lanes != nullptr) lanes->push_back(is_own ? Lane{} : waiting_.front_lane());
      taken.push_back(is_own ? pop_own() : waiting_.pop());
    }
    count(-static_cast<int64_t>(taken.size()));
    return taken;
  }

  // Works that were taken and not begun wait again, before everything that came after them. Called by the one thread
  // that takes; `lanes` as take() returned them.
  void put_back(List works, std::span<const Lane> lanes) {
    const std::lock_guard lock(mutex_);
    count(static_cast<int64_t>(works.size()));
    for (auto at = works.size(); at-- > 0;) {
      if (own_is_first_ && lanes[at] == Lane{}) {
        own_.push_front(std::move(works[at]));
      } else {
        waiting_.push_front(lanes[at], std::move(works[at]));
      }
    }
  }

  // The server's own were so many that no lane had its turn: the next one is a lane's, if one waits.
  void let_lane_be_next() {
    const std::lock_guard lock(mutex_);
    lane_is_next_ = !waiting_.empty();
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
    poster_.post(std::move(refused));
  }

  std::size_t count_waiting() const { return own_.size() + waiting_.size(); }
  std::unique_ptr<Kind> pop_own() {
    auto work = std::move(own_.front());
    own_.pop_front();
    return work;
  }

  void count(int64_t more) {
    if (length_ != nullptr) length_->add(more);
  }

  LoopPoster& poster_;
  const std::string refusal_;
  world::Gauge* length_;
  Executor* executor_ = nullptr;  // of whoever takes them; empty: a thread of the owner's
  std::size_t lane_max_ = waiting_max;
  Error lane_refusal_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool own_is_first_ = false;
  std::deque<std::unique_ptr<Kind>> own_;       // guarded by mutex_; only where the server's own are first
  Turns<Lane, std::unique_ptr<Kind>> waiting_;  // guarded by mutex_
  bool lane_is_next_ = false;                   // guarded by mutex_
  bool stopping_ = false;                       // guarded by mutex_
};

}  // namespace sluice::store
