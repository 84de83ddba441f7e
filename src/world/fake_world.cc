#include "world/fake_world.h"

#include <algorithm>

namespace sluice::world {

FakeLoop::~FakeLoop() {
  // What is still waiting may hold timers of ours; let it go while we can still forget them.
  deferred_.clear();
  posted_.clear();
  auto timers = std::move(timers_);
  timers_.clear();
  timers.clear();
}

Timer FakeLoop::after(Millis delay, Callback<void()> then) {
  const uint64_t ticket = next_ticket_++;
  const int64_t due = monotonic_ms_ + std::max<int64_t>(0, delay.value);
  due_[ticket] = due;
  timers_.emplace(std::pair(due, ticket), std::move(then));
  return {*this, ticket};
}

void FakeLoop::forget(uint64_t ticket) {
  const auto found = due_.find(ticket);
  if (found == due_.end()) return;
  const auto timer = timers_.extract(std::pair(found->second, ticket));
  due_.erase(found);
}

void FakeLoop::post(Callback<void()> then) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(then));
}

bool FakeLoop::step() {
  Callback<void()> next;
  {
    const std::lock_guard lock(mutex_);
    if (!posted_.empty()) {
      next = std::move(posted_.front());
      posted_.pop_front();
    }
  }
  if (!next && !deferred_.empty()) {
    next = std::move(deferred_.front());
    deferred_.pop_front();
  }
  if (!next && !timers_.empty() && timers_.begin()->first.first <= monotonic_ms_) {
    auto timer = timers_.extract(timers_.begin());
    due_.erase(timer.key().second);
    next = std::move(timer.mapped());
  }
  if (!next) return false;
  next();
  return true;
}

void FakeLoop::settle() {
  while (step()) {
  }
}

int64_t FakeLoop::next_timer_ms() const {
  return timers_.empty() ? -1 : std::max<int64_t>(0, timers_.begin()->first.first - monotonic_ms_);
}

void FakeLoop::advance(Millis span) {
  settle();
  const int64_t until = monotonic_ms_ + span.value;
  while (!timers_.empty() && timers_.begin()->first.first <= until) {
    const int64_t wait = timers_.begin()->first.first - monotonic_ms_;
    monotonic_ms_ += wait;
    now_.ms += wait;
    settle();
  }
  now_.ms += until - monotonic_ms_;
  monotonic_ms_ = until;
  settle();
}

void FakeEntropy::fill(std::span<uint8_t> out) {
  uint64_t value = next_++;
  for (std::size_t i = out.size(); i-- > 0; value >>= 8) out[i] = static_cast<uint8_t>(value);
}

void FakeLog::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  static constexpr std::string_view names[] = {"debug", "info", "warn", "error"};
  std::string line(names[static_cast<int>(level)]);
  line.append(" ").append(event);
  for (const auto& field : fields) {
    line.append(" ").append(field.name).append("=");
    if (const auto* text = std::get_if<std::string_view>(&field.value)) line += *text;
    if (const auto* number = std::get_if<int64_t>(&field.value)) line += std::to_string(*number);
  }
  lines.push_back(std::move(line));
}

}  // namespace sluice::world
