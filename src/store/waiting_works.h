// Operations on their way from the loop to the threads that do them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "store/sql_work.h"
#include "world/metrics.h"

namespace sluice::store {

// `Kind` can fail(Error) and answer().
template <typename Kind>
class WaitingWorks {
 public:
  using List = std::vector<std::unique_ptr<Kind>>;

  // `length`, if there is one, is how many wait, here and wherever else it is counted.
  WaitingWorks(Postman& postman, std::string refusal, world::Gauge* length)
      : postman_(postman), refusal_(std::move(refusal)), length_(length) {}

  // From any thread. What is too much is answered so.
  void submit(std::unique_ptr<Kind> work) {
    {
      std::unique_lock lock(mutex_);
      if (waiting_.size() < waiting_max) {
        waiting_.push_back(std::move(work));
        count(1);
        lock.unlock();
        return wake_.notify_one();
      }
    }
    work->fail({ErrorKind::overloaded, refusal_});
    List refused;
    refused.push_back(std::move(work));
    postman_.deliver(std::move(refused));
  }

  // Nothing waits, and more may come.
  bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && !stopping_;
  }

  // Waits until there are some, and takes them in their order: at most `most`, and none from the first on of which
  // `fits(work, taken)` is false. Nothing when all are done that came before stop().
  template <typename Fits>
  List take(std::size_t most, Fits fits) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    List taken;
    while (!waiting_.empty() && taken.size() < most && fits(*waiting_.front(), taken)) {
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
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
  // A database slower than its callers must not eat the memory.
  static constexpr std::size_t waiting_max = 50'000;

  void count(int64_t more) {
    if (length_ != nullptr) length_->add(more);
  }

  Postman& postman_;
  const std::string refusal_;
  world::Gauge* length_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Kind>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
};

}  // namespace sluice::store
