#include "tests/sim/node_loop.h"

#include <algorithm>

namespace sluice::sim {

world::Timer NodeLoop::after(Millis delay, Callback<void()> then) {
  const auto ticket = next_ticket_++;
  auto& waiting = timers_[ticket];
  waiting.then = std::move(then);
  waiting.timer = base_.after(delay, [this, ticket] { fire(ticket); });
  return {*this, ticket};
}

void NodeLoop::fire(uint64_t ticket) {
  auto due = timers_.extract(ticket);
  if (!due.empty()) run(ticket, std::move(due.mapped().then));
}

void NodeLoop::forget(uint64_t ticket) {
  const auto gone = timers_.extract(ticket);
  std::erase_if(late_, [&](const Late& late) { return late.ticket == ticket; });
}

void NodeLoop::defer(Callback<void()> then) {
  base_.defer([this, then = std::move(then)]() mutable { run(0, std::move(then)); });
}

void NodeLoop::post(Callback<void()> then) {
  base_.post([this, then = std::move(then)]() mutable { run(0, std::move(then)); });
}

void NodeLoop::run(uint64_t ticket, Callback<void()> then) {
  if (dead_) return;
  if (stalled_) {
    late_.push_back({ticket, std::move(then)});
    return;
  }
  then();
}

void NodeLoop::wake() {
  stalled_ = false;
  while (!late_.empty() && !stalled_ && !dead_) {
    auto next = std::move(late_.front());
    late_.pop_front();
    next.then();
  }
}

void Link::post(Callback<void()> then) {
  if (ms_max_ == 0 && under_way_.empty()) return node_.post(std::move(then));
  const auto now_us = base_.monotonic_us();
  const auto wait_us = ms_max_ == 0 ? 0 : chance_.below(ms_max_ + 1) * 1'000;
  const auto due_us = std::max(now_us + wait_us, under_way_.empty() ? now_us : under_way_.back().due_us);
  auto& under = under_way_.emplace_back();
  under.due_us = due_us;
  under.then = std::move(then);
  under.timer = base_.after({(due_us - now_us) / 1'000}, [this] {
    auto first = std::move(under_way_.front());
    under_way_.pop_front();
    node_.post(std::move(first.then));
  });
}

}  // namespace sluice::sim
