// A sequence of waits written as a coroutine, which can be cancelled at each of its waits.
//
// A Task<T> is one function of a sequence; it may await answers and other tasks. A Sequence is a member of the object
// whose end is the end of the waiting: it runs a task from its start to its end. Dropping the Sequence destroys the
// frames of all its tasks, and with them every handle (a Timer, a request) for whose answer they wait. An answer that
// comes later is ignored. No task asks whether its owner still exists: this file is the only place that does.
//
//   Task<Result<Unit>> Session::open() {
//     auto found = co_await answer<Result<Layers>>([&](auto done) { return files_.find(run_, std::move(done)); });
//     if (!found) co_return found.error();
//     co_await outside([this] { listener_.on_phase("open"); });  // the listener may drop this session
//     co_return co_await put_files();
//   }
//
// A task is a function, not a lambda, whose captures would not live in the frame. A reference parameter refers to the
// owner of the Sequence, or to a local of the task that awaits. A call that may drop the Sequence is made by outside();
// otherwise a check stops the program, because the frame stands on the stack. All of it runs on the loop's thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/callback.h"
#include "base/check.h"
#include "base/result.h"

namespace sluice {

// What the types below share; of no use to others.
namespace task_internals {

// One running sequence, shared by its Sequence and the callbacks for which it waits. run() is the only place that
// resumes a frame. It stands on the stack of the code that answers, never on that of a frame, so a frame is neither
// resumed nor destroyed from inside another one.
class RunningSequence : public std::enable_shared_from_this<RunningSequence> {
 public:
  virtual ~RunningSequence() = default;

  void start(std::coroutine_handle<> first);
  // Registers that `frame` waits. The returned number identifies this wait.
  uint32_t suspend(std::coroutine_handle<> frame);
  // Makes `call` when `frame` is suspended, so that the call may drop the sequence.
  void suspend_for(std::coroutine_handle<> frame, Callback<void()> call);
  // False after the wait was answered, and after the sequence ended or was dropped.
  bool waits_for(uint32_t wait) const { return next_ && !is_answered_ && wait == last_wait_; }
  void answered();
  void drop();

 private:
  void run();
  virtual void destroy_frames() = 0;
  virtual void finish() = 0;

  std::coroutine_handle<> next_;  // the frame that waits; null while a frame runs, and after the end
  Callback<void()> outside_;
  uint32_t last_wait_ = 0;
  bool is_running_ = false, is_answered_ = false;
};

struct PromiseBase {
  RunningSequence* sequence = nullptr;
  std::coroutine_handle<> parent = std::noop_coroutine();

  struct ResumeParent {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().parent;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  ResumeParent final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }  // the codebase has no exceptions
};

template <typename T>
struct PromiseOf : PromiseBase {
  using Value = T;
  std::optional<T> value;
  template <typename Given>
  void return_value(Given&& given) {
    value.emplace(std::forward<Given>(given));
  }
  T take() { return std::move(*value); }
};

template <>
struct PromiseOf<void> : PromiseBase {
  using Value = Unit;
  void return_void() {}
  Unit take() { return {}; }
};

template <typename T, typename Ask>
class [[nodiscard]] Wait {
 public:
  explicit Wait(Ask ask) : ask_(std::move(ask)) {}

  // Keeps the sequence's memory, not its frames: `waiting` is valid only while the sequence waits for `number`.
  struct Done {
    std::shared_ptr<RunningSequence> sequence;
    Wait* waiting;
    uint32_t number;
    template <typename... Given>
    void operator()(Given&&... given) {
      if (!sequence->waits_for(number)) return;
      waiting->answer_.emplace(std::forward<Given>(given)...);
      const auto resumed = sequence;  // the frame may drop the handle that owns this callback
      resumed->answered();
    }
  };

  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    auto sequence = frame.promise().sequence->shared_from_this();
    const auto number = sequence->suspend(frame);
    if constexpr (std::is_void_v<Kept>) {
      ask_(Done{std::move(sequence), this, number});
    } else {
      kept_.emplace(ask_(Done{std::move(sequence), this, number}));
    }
  }
  T await_resume() { return std::move(*answer_); }

 private:
  using Kept = std::invoke_result_t<Ask&, Done>;
  Ask ask_;
  std::optional<T> answer_;
  std::optional<std::conditional_t<std::is_void_v<Kept>, Unit, Kept>> kept_;
};

}  // namespace task_internals

// Begins when another task awaits it, or when it is given to a Sequence. A Task<> awaited gives Unit.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : task_internals::PromiseOf<T> {  // NOLINT(readability-identifier-naming): the language's name
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  using Value = typename task_internals::PromiseOf<T>::Value;

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() { destroy(); }
  void destroy() {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  bool await_ready() const { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    frame_.promise().parent = parent;
    return begin_in(*parent.promise().sequence);
  }
  Value await_resume() { return frame_.promise().take(); }

  std::coroutine_handle<> begin_in(task_internals::RunningSequence& sequence) {
    frame_.promise().sequence = &sequence;
    return frame_;
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

// Owns a sequence. Its destructor, drop() and another start() cancel the sequence; `done` is then not called. `done`
// may drop, destroy or restart the Sequence that calls it.
class Sequence {
 public:
  template <typename T>
  void start(Task<T> task, Callback<void(typename Task<T>::Value)> done = nullptr) {
    drop();
    auto running = std::make_shared<Running<T>>(std::move(task), std::move(done));
    running_ = running;
    running->start(running->task.begin_in(*running));
  }
  ~Sequence() { drop(); }
  Sequence() = default;
  Sequence(Sequence&&) = delete;

  void drop() {
    if (running_) std::exchange(running_, nullptr)->drop();
  }

 private:
  template <typename T>
  struct Running final : task_internals::RunningSequence {
    using Done = Callback<void(typename Task<T>::Value)>;
    Running(Task<T> begun, Done then) : task(std::move(begun)), done(std::move(then)) {}
    void destroy_frames() override {
      task.destroy();
      done.reset();
    }
    void finish() override {
      auto then = std::move(done);
      auto value = task.await_resume();
      task.destroy();
      if (then) then(std::move(value));
    }
    Task<T> task;
    Done done;
  };

  std::shared_ptr<task_internals::RunningSequence> running_;
};

// Runs a task that no object owns. The answer for which it waits keeps it, so a `done` that is destroyed without a call
// destroys its frames. For the handlers of requests, which share the request with everything that they wait for.
void start_unowned(Task<> task);

// co_await answer<T>([&](auto done) { return ask(…, std::move(done)); }) gives the T with which `done` is called first;
// further calls are ignored. What the question returns, a Timer for instance, is kept until the answer, or dropped with
// the sequence. A `done` that is destroyed without a call is no answer: the sequence then waits until it is dropped.
template <typename T, typename Ask>
task_internals::Wait<T, Ask> answer(Ask ask) {
  return task_internals::Wait<T, Ask>(std::move(ask));
}

// co_await pause(loop, span): waits on a timer of the world's loop.
template <typename Loop, typename Span>
auto pause(Loop& loop, Span span) {
  return answer<Unit>([&loop, span](auto done) { return loop.after(span, std::move(done)); });
}

// co_await outside([…] { … }): makes a call that may drop the sequence. The call captures by value, because the frame
// may be destroyed during it.
struct [[nodiscard]] Outside {
  Callback<void()> call;
  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    frame.promise().sequence->suspend_for(frame, std::move(call));
  }
  void await_resume() {}
};

inline Outside outside(Callback<void()> call) { return {std::move(call)}; }

}  // namespace sluice
