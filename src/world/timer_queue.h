// Timers in order of their due time: a binary heap that knows where each timer sits, so that adding
// and cancelling cost O(log n). Timers due at the same moment come out in the order they went in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "world/loop_thread.h"
#include "world/world.h"

namespace sluice::world {

class TimerQueue final : public Timer::Keeper {
 public:
  // `thread` is that of the loop whose timers these are.
  explicit TimerQueue(const LoopThread& thread) : thread_(thread) {}
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue() override { clear(); }

  [[nodiscard]] Timer add(int64_t due_us, Callback<void()> then);
  void forget(uint64_t ticket) override;
  void clear();

  std::optional<int64_t> next_due_us() const;
  // The callback of the earliest timer, taken out, if it is due at `now_us`.
  Callback<void()> take_due(int64_t now_us);
  std::size_t size() const { return heap_.size(); }

 private:
  struct Node {
    int64_t due_us;
    uint64_t age;
    uint32_t slot;
    bool before(const Node& other) const { return due_us != other.due_us ? due_us < other.due_us : age < other.age; }
  };
  // A ticket names a slot and its generation, so a ticket of a timer that fired finds nothing.
  struct Slot {
    Callback<void()> then;
    uint32_t generation = 0;
    uint32_t at = 0;  // place in the heap
  };

  Callback<void()> remove(std::size_t at);
  void place(std::size_t at, const Node& node);
  void rise(std::size_t at);
  void sink(std::size_t at);

  const LoopThread& thread_;
  std::vector<Node> heap_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  uint64_t next_age_ = 0;
};

}  // namespace sluice::world
