// A world for tests: time stands still until the test moves it, chance is a counter, and the log
// is a list that can be read. One thread, no sockets; the same seed gives the same story.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "world/world.h"

namespace sluice::world {

class FakeLoop final : public Loop, private Timer::Keeper {
 public:
  explicit FakeLoop(Timestamp start = {1'782'986'400'000}) : now_(start) {}  // 2026-07-02T10:00:00Z
  ~FakeLoop() override;

  Timestamp now() const override { return now_; }
  int64_t monotonic_us() const override { return monotonic_ms_ * 1000; }
  Timer after(Millis delay, Callback<void()> then) override;
  void defer(Callback<void()> then) override { deferred_.push_back(std::move(then)); }
  void post(Callback<void()> then) override;

  // Runs the next thing that is ready; false when there is none.
  bool step();
  // Runs all that is ready, and what that makes ready, without time passing.
  void settle();
  // Lets time pass, timer by timer, settling after each.
  void advance(Millis span);
  // The wall clock jumps; deadlines do not move.
  void jump_wall_clock(Millis by) { now_.ms += by.value; }
  // Milliseconds until the next timer; -1 when there is none.
  int64_t next_timer_ms() const;
  std::size_t timer_count() const { return timers_.size(); }

 private:
  void forget(uint64_t ticket) override;

  Timestamp now_;
  int64_t monotonic_ms_ = 1'000;
  uint64_t next_ticket_ = 1;
  std::map<std::pair<int64_t, uint64_t>, Callback<void()>> timers_;  // by due time, then by age
  std::map<uint64_t, int64_t> due_;
  std::deque<Callback<void()>> deferred_;
  std::mutex mutex_;
  std::deque<Callback<void()>> posted_;
};

// Does everything on the loop's own thread, in its own turn.
class FakeWorkers final : public Workers {
 public:
  explicit FakeWorkers(Loop& loop) : loop_(loop) {}
  void run(Callback<void()> work, Callback<void()> then) override {
    if (answered_until_held && (*answered_until_held)-- <= 0)
      return held_.push_back({std::move(work), std::move(then)});
    begin(std::move(work), std::move(then));
  }

  // ── for the test ──
  std::optional<int> answered_until_held;  // so many jobs are done, later ones hang until release(); none: all are done
  void release() {
    answered_until_held.reset();
    for (auto& [work, then] : std::exchange(held_, {})) begin(std::move(work), std::move(then));
  }
  std::size_t held() const { return held_.size(); }

 private:
  void begin(Callback<void()> work, Callback<void()> then) {
    loop_.defer([work = std::move(work), then = std::move(then)]() mutable {
      work();
      then();
    });
  }

  Loop& loop_;
  std::vector<std::pair<Callback<void()>, Callback<void()>>> held_;
};

// Counts up, so that its values are predictable.
class FakeEntropy final : public Entropy {
 public:
  void fill(std::span<uint8_t> out) override;

 private:
  uint64_t next_ = 1;
};

class FakeLog final : public Log {
 public:
  bool wants(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) override;
  std::vector<std::string> lines;  // "warn request served status=200"
};

}  // namespace sluice::world
