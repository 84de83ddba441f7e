// How long a server's sessions with PostgreSQL wait, and keep others waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice::store {

// A transaction that writes sends its statements one after the other: this is a server that froze in between. Until it
// is undone the others wait for its locks.
inline constexpr int pg_idle_ms_max = 5'000;
// Readers lock nothing that others write, and pack journals between two questions.
inline constexpr int pg_reader_idle_ms_max = 60'000;
// Longer than a frozen server's transaction lasts, so that who waits for that is served after it.
inline constexpr int pg_lock_ms_max = 8'000;

// The write that is under way, timed by the thread that writes and read by others.
class PgWriting {
 public:
  void begin() { since_us_ = now_us(); }
  void end() { since_us_ = 0; }
  // 0 when there is none.
  int64_t ms() const {
    const int64_t since_us = since_us_.load(std::memory_order_relaxed);
    return since_us == 0 ? 0 : (now_us() - since_us) / 1'000;
  }

 private:
  static int64_t now_us() {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
  }

  std::atomic<int64_t> since_us_{0};
};

}  // namespace sluice::store
