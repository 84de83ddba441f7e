// The world as a parameter: time, chance, waiting and the log. The real one and the fake one have
// the same doors, so the engine cannot tell whether an hour passed or a test said so.
//
// A Loop is one thread. Everything here is called from that thread, except Loop::post().
// Not its business: HTTP (net), SQL (store), anybody's policy.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/callback.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "world/metrics.h"

namespace sluice::world {

// A promise to call back later. Dropping it breaks the promise.
class Timer {
 public:
  class Keeper {
   public:
    virtual ~Keeper() = default;
    virtual void forget(uint64_t ticket) = 0;
  };

  Timer() = default;
  Timer(Keeper& keeper, uint64_t ticket) : keeper_(&keeper), ticket_(ticket) {}
  Timer(Timer&& other) noexcept : keeper_(std::exchange(other.keeper_, nullptr)), ticket_(other.ticket_) {}
  Timer& operator=(Timer&& other) noexcept {
    if (this != &other) {
      cancel();
      keeper_ = std::exchange(other.keeper_, nullptr);
      ticket_ = other.ticket_;
    }
    return *this;
  }
  ~Timer() { cancel(); }
  void cancel() {
    if (keeper_ != nullptr) std::exchange(keeper_, nullptr)->forget(ticket_);
  }

 private:
  Keeper* keeper_ = nullptr;
  uint64_t ticket_ = 0;
};

class Loop {
 public:
  virtual ~Loop() = default;

  // Wall clock: for stamps that people read. It may jump either way.
  virtual Timestamp now() const = 0;
  // Never jumps; for latencies and deadlines.
  virtual int64_t monotonic_us() const = 0;

  // Calls back once, no sooner than `delay` from now. The timer must not outlive the loop.
  [[nodiscard]] virtual Timer after(Millis delay, Callback<void()> then) = 0;

  // Calls back when everything that is ready now has been handled: how work of one turn is gathered
  // into one commit or one send.
  virtual void defer(Callback<void()> then) = 0;

  // From any thread: calls back on the loop's thread, in the order posted.
  virtual void post(Callback<void()> then) = 0;
};

// A file descriptor being watched. Dropping it stops the watch; the descriptor stays the caller's.
class Watch {
 public:
  virtual ~Watch() = default;
  struct Interest {
    bool read = false;
    bool write = false;
  };
  virtual void want(Interest interest) = 0;
};

struct Ready {
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // error or hang-up: reading will tell
};

// The loop of a real process.
class Reactor : public Loop {
 public:
  // Level-triggered. Inside `when` the watch may be dropped.
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(int fd, Watch::Interest interest, Callback<void(Ready)> when) = 0;
  // Runs until stop().
  virtual void run() = 0;
  virtual void stop() = 0;
};

Result<std::unique_ptr<Reactor>> make_reactor();

// Threads for work that blocks: files, mostly.
class Workers {
 public:
  virtual ~Workers() = default;
  // Runs `work` on some thread, then `then` on the loop's. What is not begun when the Workers go is
  // not done; what is under way is waited for, and its `then` is dropped.
  virtual void run(Callback<void()> work, Callback<void()> then) = 0;
};
std::unique_ptr<Workers> make_workers(Loop& loop, int thread_count);

class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual void fill(std::span<uint8_t> out) = 0;
};

std::unique_ptr<Entropy> make_system_entropy();

// Names for new things.
class IdSource {
 public:
  IdSource(const Loop& loop, Entropy& entropy) : loop_(loop), entropy_(entropy) {}
  template <typename AnyId>
  AnyId make() {
    std::array<uint8_t, 10> noise{};
    entropy_.fill(noise);
    return AnyId{source_.next(loop_.now(), noise)};
  }

 private:
  const Loop& loop_;
  Entropy& entropy_;
  UlidSource source_;
};

enum class LogLevel : uint8_t { debug, info, warn, error };

struct LogField {
  std::string_view name;
  std::variant<std::string_view, int64_t> value;
};

// One line an event. Never a key, a secret or the words of a message at info or above.
class Log {
 public:
  virtual ~Log() = default;
  virtual bool wants(LogLevel level) const = 0;
  // `event` is a short phrase, the same for every occurrence: "request served", "run ended".
  virtual void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) = 0;
};

enum class LogFormat : uint8_t { human, json };
// Writes to standard error; drops lines, and says so later, rather than wait for a reader. Thread-safe.
std::unique_ptr<Log> make_stderr_log(LogFormat format, LogLevel least);

}  // namespace sluice::world
