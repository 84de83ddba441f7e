#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/lifetime.h"
#include "world/world.h"

namespace sluice::world {
namespace {

class ThreadWorkers final : public Workers {
 public:
  ThreadWorkers(Loop& loop, int thread_count) : loop_(loop) {
    for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~ThreadWorkers() override {
    {
      const std::lock_guard hold(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void run(Callback<void()> work, Callback<void()> then) override {
    {
      const std::lock_guard hold(mutex_);
      waiting_.push_back({std::move(work), std::move(then)});
    }
    wake_.notify_one();
  }

 private:
  struct Job {
    Callback<void()> work;
    Callback<void()> then;
  };

  void serve() {
    while (true) {
      std::unique_lock hold(mutex_);
      wake_.wait(hold, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      auto job = std::move(waiting_.front());
      waiting_.pop_front();
      hold.unlock();
      job.work();
      job.work = nullptr;  // what it captured goes here, not on the loop's thread
      // The destructor joins this thread, so the lifetime is not over while the guard is made here.
      loop_.post(lifetime_.guard(std::move(job.then)));
    }
  }

  Loop& loop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<Workers> make_workers(Loop& loop, int thread_count) {
  return std::make_unique<ThreadWorkers>(loop, thread_count);
}

}  // namespace sluice::world
