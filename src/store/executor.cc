#include "store/executor.h"

#include <chrono>
#include <thread>

namespace sluice::store {
namespace {

class ThreadExecutor final : public Executor {
 public:
  void start(Callback<bool()> turn) override {
    thread_ = std::thread([turn = std::move(turn)]() mutable {
      while (turn()) {
      }
    });
  }
  void notify() override {}  // the queue wakes a turn that waits
  bool may_wait() const override { return true; }
  void finish() override { thread_.join(); }
  int64_t now_us() const override {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
  }

 private:
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Executor> thread_of_its_own() { return std::make_unique<ThreadExecutor>(); }

}  // namespace sluice::store
