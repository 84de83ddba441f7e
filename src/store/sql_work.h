// An operation on its way through a thread: tried there, answered on the loop.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/questions.h"
#include "store/sql_connection.h"
#include "world/world.h"

namespace sluice::store {

class Work {
 public:
  enum class Class : uint8_t {
    look,  // only reads, and wants to read what the writer knows
    flow,
    boundary,
    reopen,
  };

  virtual ~Work() = default;
  virtual Class work_class() const = 0;
  // Inside a transaction. May be called again when that was rolled back, so it uses nothing up.
  virtual void attempt(Connection& db) = 0;
  // Instead: it did not work out.
  virtual void fail(Error error) = 0;
  // On the loop's thread, once.
  virtual void answer() = 0;
};
using WorkList = std::vector<std::unique_ptr<Work>>;

// `Attempt` is callable as Result<T>(Connection&).
template <typename T, typename Attempt>
class Operation final : public Work {
 public:
  Operation(Class work_class, Attempt attempt, Done<T> done)
      : class_(work_class), attempt_(std::move(attempt)), done_(std::move(done)) {}

  Class work_class() const override { return class_; }
  void attempt(Connection& db) override { result_.emplace(attempt_(db)); }
  void fail(Error error) override { result_.emplace(std::move(error)); }
  void answer() override { done_(*std::move(result_)); }

 private:
  Class class_;
  Attempt attempt_;
  Done<T> done_;
  std::optional<Result<T>> result_;
};

// Posts answers to the loop, in the order in which they were given. After some milliseconds of answers everything else
// on the loop has its turn first. No answer arrives after it was dropped, which the store does at its own end.
class LoopPoster {
 public:
  explicit LoopPoster(world::Loop& loop) : queue_(std::make_shared<Queue>(loop)) {}
  ~LoopPoster() { queue_->is_alive = false; }
  LoopPoster(const LoopPoster&) = delete;
  LoopPoster& operator=(const LoopPoster&) = delete;

  // From any thread. A list of pointers to what has an answer().
  template <typename Works>
  void post(Works works) {
    if (works.empty()) return;
    queue_->loop.post([queue = queue_, works = std::move(works)]() mutable {
      if (!queue->is_alive) return;
      queue->lists.emplace_back(
          [works = std::move(works), next = std::size_t{0}](Queue& its, int64_t until_us) mutable {
            // An answer may be the end of the store.
            while (next < works.size() && its.is_alive) {
              works[next++]->answer();
              if (next < works.size() && its.is_alive && its.loop.monotonic_us() >= until_us) return false;
            }
            return true;
          });
      if (queue->lists.size() == 1) empty(queue);  // otherwise it will be emptied soon
    });
  }

 private:
  static constexpr int64_t turn_us = 5'000;

  // Shared with the posted answers, and used on the loop's thread only. The loop may be gone when the poster is.
  struct Queue {
    explicit Queue(world::Loop& its) : loop(its) {}
    world::Loop& loop;
    bool is_alive = true;
    // What is answered until a time; true when all of a list are.
    std::deque<Callback<bool(Queue&, int64_t)>> lists;
  };
  static void empty(const std::shared_ptr<Queue>& queue) {
    if (!queue->is_alive) return;
    const int64_t until_us = queue->loop.monotonic_us() + turn_us;
    while (queue->lists.front()(*queue, until_us)) {
      if (!queue->is_alive) return;
      queue->lists.pop_front();
      if (queue->lists.empty()) return;
      if (queue->loop.monotonic_us() >= until_us) break;
    }
    queue->loop.post([queue] { empty(queue); });
  }

  std::shared_ptr<Queue> queue_;
};

}  // namespace sluice::store
