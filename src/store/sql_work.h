// An operation on its way through a thread: tried there, answered on the loop.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/sql_connection.h"
#include "store/store.h"

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

// Brings answers home. Dropped with the store, after which none arrives.
class Postman {
 public:
  explicit Postman(world::Loop& loop) : loop_(loop) {}
  ~Postman() { *alive_ = false; }
  Postman(const Postman&) = delete;
  Postman& operator=(const Postman&) = delete;

  // From any thread. A list of whatever can answer().
  template <typename Works>
  void deliver(Works works) {
    if (works.empty()) return;
    loop_.post([alive = alive_, works = std::move(works)]() mutable {
      for (const auto& work : works) {
        if (!*alive) return;  // an answer may be the end of the store
        work->answer();
      }
    });
  }

 private:
  world::Loop& loop_;
  // Shared with the answers under way; read and written on the loop's thread only.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sluice::store
