#include "base/task.h"

namespace sluice::task_internals {

void RunningSequence::start(std::coroutine_handle<> first) {
  next_ = first;
  run();
}

uint32_t RunningSequence::suspend(std::coroutine_handle<> frame) {
  SLUICE_CHECK(is_running_ && !next_);
  next_ = frame;
  is_answered_ = false;
  return ++last_wait_;
}

void RunningSequence::suspend_for(std::coroutine_handle<> frame, Callback<void()> call) {
  suspend(frame);
  outside_ = std::move(call);
}

void RunningSequence::answered() {
  is_answered_ = true;
  if (!is_running_) run();  // else the answer came before the question returned, and run() sees it
}

void RunningSequence::drop() {
  SLUICE_CHECK(!is_running_);  // a step that calls code which may drop its sequence awaits outside()
  next_ = nullptr;
  destroy_frames();
}

void RunningSequence::run() {
  const auto self = shared_from_this();  // a frame may drop the answer, which may hold the last reference
  do {
    is_running_ = true;
    std::exchange(next_, nullptr).resume();
    is_running_ = false;
    if (!next_) return finish();
    if (outside_) {
      auto call = std::exchange(outside_, nullptr);
      call();
      if (!next_) return;  // the call dropped the sequence
      is_answered_ = true;
    }
  } while (is_answered_);
}

namespace {

class Unowned final : public RunningSequence {
 public:
  explicit Unowned(Task<> task) : task_(std::move(task)) {}
  void begin() { start(task_.begin_in(*this)); }

 private:
  void destroy_frames() override { task_.destroy(); }
  void finish() override { task_.destroy(); }

  Task<> task_;
};

}  // namespace
}  // namespace sluice::task_internals

namespace sluice {

void start_unowned(Task<> task) { std::make_shared<task_internals::Unowned>(std::move(task))->begin(); }

}  // namespace sluice
