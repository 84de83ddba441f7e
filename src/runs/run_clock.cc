#include <algorithm>
#include <utility>

#include "runs/runs.h"

namespace sluice::runs {

// ── the clock ───────────────────────────────────────────────────────────────────────────────────

world::Timer RunClock::after(Millis delay, Callback<void()> then) {
  const auto ticket = next_ticket_++;
  auto& waiting = waiting_[ticket];
  waiting = {monotonic_us() + delay.value * 1'000, std::move(then), {}};
  if (!is_still_) watch(ticket, waiting);
  return {*this, ticket};
}

void RunClock::watch(uint64_t ticket, Waiting& waiting) {
  const auto left_us = std::max<int64_t>(0, waiting.due_us - monotonic_us());
  waiting.timer = loop_.after({(left_us + 999) / 1'000}, [this, ticket] {
    const auto due = waiting_.extract(ticket);
    due.mapped().then();  // may drop this
  });
}

void RunClock::stand_still(bool still) {
  if (still == is_still_) return;
  const auto now_us = loop_.monotonic_us();
  still ? still_from_us_ = now_us : still_us_ += now_us - still_from_us_;
  is_still_ = still;
  for (auto& [ticket, waiting] : waiting_) still ? waiting.timer.cancel() : watch(ticket, waiting);
}

// ── the way to others ───────────────────────────────────────────────────────────────────────────

class RunClient::HeldCall final : public net::Call {
 public:
  HeldCall(RunClient& client, net::ClientRequest request, net::CallListener& listener)
      : client_(client), request_(std::move(request)), listener_(listener) {
    client_.waiting_.push_back(this);
  }
  ~HeldCall() override { client_.waiting_.remove(this); }
  HeldCall(const HeldCall&) = delete;
  HeldCall& operator=(const HeldCall&) = delete;

  void begin() { call_ = client_.client_.call(std::move(request_), listener_); }

 private:
  RunClient& client_;
  net::ClientRequest request_;
  net::CallListener& listener_;
  std::unique_ptr<net::Call> call_;  // null: not begun
};

std::unique_ptr<net::Call> RunClient::call(net::ClientRequest request, net::CallListener& listener) {
  if (!is_held_) return client_.call(std::move(request), listener);
  return std::make_unique<HeldCall>(*this, std::move(request), listener);
}

void RunClient::hold(bool held) {
  is_held_ = held;
  while (!is_held_ && !waiting_.empty()) {
    auto* const next = waiting_.front();
    waiting_.pop_front();
    next->begin();
  }
}

}  // namespace sluice::runs
