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

// Brings answers home, in the order in which they were handed in. After some milliseconds of answers everything else
// on the loop has its turn first. Dropped with the store, after which none arrives.
class Postman {
 public:
  explicit Postman(world::Loop& loop) : bag_(std::make_shared<Bag>(loop)) {}
  ~Postman() { bag_->is_alive = false; }
  Postman(const Postman&) = delete;
  Postman& operator=(const Postman&) = delete;

  // From any thread. A list of whatever can answer().
  template <typename Works>
  void deliver(Works works) {
    if (works.empty()) return;
    bag_->loop.post([bag = bag_, works = std::move(works)]() mutable {
      if (!bag->is_alive) return;
      bag->lists.emplace_back([works = std::move(works), next = std::size_t{0}](Bag& its, int64_t until_us) mutable {
        // An answer may be the end of the store.
        while (next < works.size() && its.is_alive) {
          works[next++]->answer();
          if (next < works.size() && its.is_alive && its.loop.monotonic_us() >= until_us) return false;
        }
        return true;
      });
      if (bag->lists.size() == 1) empty(bag);  // otherwise it will be emptied soon
    });
  }

 private:
  static constexpr int64_t turn_us = 5'000;

  // Shared with what is under way; the loop's thread's own. The loop may be gone when the postman is.
  struct Bag {
    explicit Bag(world::Loop& its) : loop(its) {}
    world::Loop& loop;
    bool is_alive = true;
    // What is answered until a time; true when all of a list are.
    std::deque<Callback<bool(Bag&, int64_t)>> lists;
  };
  static void empty(const std::shared_ptr<Bag>& bag) {
    if (!bag->is_alive) return;
    const int64_t until_us = bag->loop.monotonic_us() + turn_us;
    while (bag->lists.front()(*bag, until_us)) {
      if (!bag->is_alive) return;
      bag->lists.pop_front();
      if (bag->lists.empty()) return;
      if (bag->loop.monotonic_us() >= until_us) break;
    }
    bag->loop.post([bag] { empty(bag); });
  }

  std::shared_ptr<Bag> bag_;
};

}  // namespace sluice::store
