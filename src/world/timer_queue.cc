#include "world/timer_queue.h"

#include <utility>

namespace sluice::world {

Timer TimerQueue::add(int64_t due_us, Callback<void()> then) {
  thread_.check();
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].then = std::move(then);
  heap_.push_back({due_us, next_age_++, slot});
  rise(heap_.size() - 1);
  return {*this, uint64_t{slots_[slot].generation} << 32 | slot};
}

void TimerQueue::forget(uint64_t ticket) {
  thread_.check();
  const auto slot = static_cast<uint32_t>(ticket);
  if (slot >= slots_.size() || slots_[slot].generation != ticket >> 32) return;
  // The callback may own other timers: it dies here, when the heap is whole again.
  const auto dropped = remove(slots_[slot].at);
}

void TimerQueue::clear() {
  while (!heap_.empty()) {
    const auto dropped = remove(heap_.size() - 1);
  }
}

std::optional<int64_t> TimerQueue::next_due_us() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().due_us;
}

Callback<void()> TimerQueue::take_due(int64_t now_us) {
  if (heap_.empty() || heap_.front().due_us > now_us) return nullptr;
  return remove(0);
}

Callback<void()> TimerQueue::remove(std::size_t at) {
  Slot& slot = slots_[heap_[at].slot];
  Callback<void()> then = std::move(slot.then);
  ++slot.generation;
  free_.push_back(heap_[at].slot);

  const Node last = heap_.back();
  heap_.pop_back();
  if (at < heap_.size()) {
    place(at, last);
    rise(at);
    sink(slots_[last.slot].at);
  }
  return then;
}

void TimerQueue::place(std::size_t at, const Node& node) {
  heap_[at] = node;
  slots_[node.slot].at = static_cast<uint32_t>(at);
}

void TimerQueue::rise(std::size_t at) {
  const Node node = heap_[at];
  for (; at > 0 && node.before(heap_[(at - 1) / 2]); at = (at - 1) / 2) place(at, heap_[(at - 1) / 2]);
  place(at, node);
}

void TimerQueue::sink(std::size_t at) {
  const Node node = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(node)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, node);
}

}  // namespace sluice::world
