// A sequence of waits as a coroutine, with scoped cancellation. A Task<T> is a part of a sequence; a Sequence runs one
// from its start to its end. Dropping the Sequence destroys the frames of all its parts, and with them every handle on
// which they wait; an answer that comes later finds nothing. This is the only place that asks whether the sequence is
// still there.
//
// Everything is called on the loop's thread. No frame is resumed or destroyed from inside another one: Flow::run() is
// the only place that resumes, and it stands on the stack of whoever answered.
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

// A running sequence, shared with the callbacks for which it waits.
class Flow : public std::enable_shared_from_this<Flow> {
 public:
  virtual ~Flow() = default;

  // The frame `at` waits now. The answer to this wait has the returned number.
  uint32_t suspend(std::coroutine_handle<> at) {
    SLUICE_CHECK(is_running_ && !next_);
    next_ = at;
    is_answered_ = false;
    return ++waits_;
  }
  bool waits_for(uint32_t wait) const { return next_ && wait == waits_; }
  void answered() {
    is_answered_ = true;
    if (!is_running_) run();
  }
  // Calls out while the frame `at` is suspended, so that the call may drop the sequence.
  void suspend_for(std::coroutine_handle<> at, Callback<void()> call) {
    suspend(at);
    outside_ = std::move(call);
  }
  void start(std::coroutine_handle<> first) { next_ = first, run(); }
  // Not from inside a step: a step that calls code which may drop its sequence awaits outside().
  void drop() {
    SLUICE_CHECK(!is_running_);
    next_ = nullptr;
    clear();
  }

 private:
  virtual void clear() = 0;
  virtual void finish() = 0;

  void run() {
    const auto self = shared_from_this();
    do {
      is_running_ = true;
      std::exchange(next_, nullptr).resume();
      is_running_ = false;
      if (!next_) return finish();
      if (outside_) {
        auto call = std::exchange(outside_, nullptr);
        call();
        if (!next_) return;  // dropped
        is_answered_ = true;
      }
    } while (is_answered_);
  }

  std::coroutine_handle<> next_;  // the frame that waits; none: it runs, or is over
  Callback<void()> outside_;
  uint32_t waits_ = 0;
  bool is_running_ = false, is_answered_ = false;
};

struct PromiseBase {
  Flow* flow = nullptr;
  std::coroutine_handle<> parent = std::noop_coroutine();

  struct ToParent {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().parent;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  ToParent final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
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

// Begins when it is awaited, or given to a Sequence.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : PromiseOf<T> {  // NOLINT(readability-identifier-naming): the language's name
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  using Value = typename PromiseOf<T>::Value;

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() { clear(); }
  void clear() {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  bool await_ready() const { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    frame_.promise().parent = parent;
    return first(*parent.promise().flow);
  }
  Value await_resume() { return frame_.promise().take(); }

  std::coroutine_handle<> first(Flow& flow) {
    frame_.promise().flow = &flow;
    return frame_;
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

// Owns a sequence. Dropping it, or drop(), cancels the sequence; `done` is then not called.
class Sequence {
 public:
  template <typename T>
  void start(Task<T> task, Callback<void(typename Task<T>::Value)> done = nullptr) {
    drop();
    auto flow = std::make_shared<Root<T>>(std::move(task), std::move(done));
    flow_ = flow;
    flow->start(flow->task.first(*flow));
  }
  ~Sequence() { drop(); }
  Sequence() = default;
  Sequence(Sequence&&) = delete;

  void drop() {
    if (flow_) std::exchange(flow_, nullptr)->drop();
  }

 private:
  template <typename T>
  struct Root final : Flow {
    using Done = Callback<void(typename Task<T>::Value)>;
    Root(Task<T> begun, Done then) : task(std::move(begun)), done(std::move(then)) {}
    void clear() override {
      task.clear();
      done.reset();
    }
    void finish() override {
      auto then = std::move(done);
      auto value = task.await_resume();
      task.clear();
      if (then) then(std::move(value));
    }
    Task<T> task;
    Done done;
  };

  std::shared_ptr<Flow> flow_;
};

// co_await answer<T>([&](auto done) { return ask(…, std::move(done)); }): the one argument of `done`. What `ask`
// returns, a Timer for instance, is kept until then, and dropped with the sequence.
template <typename T, typename Ask>
class [[nodiscard]] Answer {
 public:
  explicit Answer(Ask ask) : ask_(std::move(ask)) {}

  struct Done {
    std::shared_ptr<Flow> flow;
    Answer* waiting;
    uint32_t wait;
    template <typename... Given>
    void operator()(Given&&... given) {
      if (!flow->waits_for(wait)) return;
      waiting->answer_.emplace(std::forward<Given>(given)...);
      const auto resumed = flow;  // the frame may drop what holds this
      resumed->answered();
    }
  };

  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> at) {
    auto flow = at.promise().flow->shared_from_this();
    const auto wait = flow->suspend(at);
    if constexpr (std::is_void_v<Kept>) {
      ask_(Done{std::move(flow), this, wait});
    } else {
      kept_ = ask_(Done{std::move(flow), this, wait});
    }
  }
  T await_resume() { return std::move(*answer_); }

 private:
  using Kept = std::invoke_result_t<Ask&, Done>;
  Ask ask_;
  std::optional<T> answer_;
  std::conditional_t<std::is_void_v<Kept>, Unit, Kept> kept_{};
};

template <typename T, typename Ask>
Answer<T, Ask> answer(Ask ask) {
  return Answer<T, Ask>(std::move(ask));
}

// co_await outside([…] { … }): calls what may drop the sequence. The call captures by value: the frame may go during
// it.
struct [[nodiscard]] Outside {
  Callback<void()> call;
  bool await_ready() const { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> at) {
    at.promise().flow->suspend_for(at, std::move(call));
  }
  void await_resume() {}
};

inline Outside outside(Callback<void()> call) { return {std::move(call)}; }

}  // namespace sluice
