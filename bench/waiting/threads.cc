// Launches whose answers are made on two other threads and posted to the loop, as the store's are; runs go meanwhile.
// For the thread sanitizer.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "bench/waiting/chance.h"
#include "bench/waiting/launch.h"
#include "world/fake_world.h"

namespace sluice::waiting {
namespace {

// Runs `work` on one of two threads.
class Threads {
 public:
  Threads() : first_([this] { serve(); }), second_([this] { serve(); }) {}
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    more_.notify_all();
    first_.join();
    second_.join();
  }
  void run(Callback<void()> work) {
    const std::lock_guard lock(mutex_);
    ++open_;
    work_.push_back(std::move(work));
    more_.notify_one();
  }
  // Until nothing is under way.
  void wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      more_.wait(lock, [this] { return is_over_ || !work_.empty(); });
      if (work_.empty()) return;
      auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      work.reset();
      lock.lock();
      if (--open_ == 0) idle_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable more_, idle_;
  std::deque<Callback<void()>> work_;
  int open_ = 0;
  bool is_over_ = false;
  std::thread first_, second_;
};

class ThreadedStore final : public Store, private Run::Owner {
 public:
  ThreadedStore(uint64_t seed, bool with_tasks, Threads& threads)
      : chance_(seed),
        threads_(threads),
        needs_{loop_,
               *this,
               [](int) { return true; },
               [this](int, Callback<void()> then) { later(std::move(then)); },
               [] { return false; },
               [](int, Callback<void()>) {}},
        launcher_(with_tasks ? make_task_launcher(needs_) : make_callback_launcher(needs_)) {}

  int play() {
    std::vector<std::unique_ptr<Run>> runs;
    for (int i = 0; i < 8; ++i) {
      runs.push_back(std::make_unique<Run>(static_cast<Run::Owner&>(*this), i));
      launcher_->begin(*runs.back());
    }
    for (int turn = 0; open_ > 0; ++turn) {
      if (!loop_.step()) std::this_thread::yield();
      if (chance_.of(24, turn, 1) == 0 && !runs.empty()) runs.pop_back();
    }
    threads_.wait();
    return ended_;
  }

 private:
  void past(int, Callback<void(Result<std::shared_ptr<Past>>)> done) override {
    later([done = std::move(done)]() mutable {
      auto found = std::make_shared<Past>();
      found->launch.work.reads_history = true;
      found->launch.names.materials = {"a repository"};
      done(std::move(found));
    });
  }
  void materials(int, const Names& names, Callback<void(Result<Found>)> done) override {
    later([names, done = std::move(done)]() mutable { done(Found{names.materials, {}}); });
  }
  void secrets(int, Callback<void(Result<std::vector<std::string>>)> done) override {
    later([done = std::move(done)]() mutable { done(std::vector<std::string>{"a secret"}); });
  }
  void history(int, Callback<void(Result<std::vector<std::string>>)> done) override {
    later([done = std::move(done)]() mutable { done(std::vector<std::string>{"what was said"}); });
  }
  void on_run(int, std::string) override { ++ended_; }
  void write_mark(int, Callback<void()> then) override { later(std::move(then)); }

  void later(Callback<void()> then) {
    ++open_;
    threads_.run([this, then = std::move(then)]() mutable {
      loop_.post([this, then = std::move(then)]() mutable {
        --open_;
        then();
      });
    });
  }

  world::FakeLoop loop_;
  Chance chance_;
  Threads& threads_;
  LaunchNeeds needs_;
  std::unique_ptr<Launcher> launcher_;
  int open_ = 0, ended_ = 0;  // on the loop's thread
};

}  // namespace

int threads(int count) {
  int64_t ended[2] = {0, 0};
  for (const bool with_tasks : {false, true}) {
    Threads pool;
    for (int seed = 0; seed < count; ++seed) {
      ThreadedStore store(static_cast<uint64_t>(seed), with_tasks, pool);
      ended[with_tasks ? 1 : 0] += store.play();
    }
  }
  std::printf("%d seeds with threads: %lld runs dispatched by callbacks, %lld by tasks\n", count,
              static_cast<long long>(ended[0]), static_cast<long long>(ended[1]));
  return 0;
}

}  // namespace sluice::waiting
