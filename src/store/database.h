// The records of a store, for SQLite and PostgreSQL alike: each operation on them is one function (store/tenants.h and
// its neighbours) whose body submits a lambda with its SQL here. Called from the loop's thread; the lambda runs in one
// transaction on a thread of the store, and `done` is called on the loop's thread, never from inside the call.
//
// Runs and their journals are written elsewhere (Store::accept and its neighbours), because they have a writer's state
// in memory or a thread of their own.
#pragma once

#include <memory>
#include <utility>

#include "store/sql_readers.h"
#include "store/sql_writer.h"

namespace sluice::store {

class Database {
 public:
  // How many searches of one tenant may wait for their turn.
  static constexpr std::size_t searches_waiting_max = 16;
  // Which servers use the database.
  enum class Sharing : uint8_t { alone, shared };
  static constexpr int64_t search_ms_max_by_default = 5'000;

  // `searchers` are readers for operations that look through many rows, each for at most `search_ms_max`.
  Database(Writer& writer, Readers& readers, Readers& searchers, Sharing sharing,
           int64_t search_ms_max = search_ms_max_by_default)
      : writer_(writer), readers_(readers), searchers_(searchers), sharing_(sharing), search_ms_max_(search_ms_max) {}

  bool is_shared() const { return sharing_ == Sharing::shared; }
  int64_t search_ms_max() const { return search_ms_max_; }

  // For the server itself. `attempt` is callable as Result<T>(Connection&), more than once.
  template <typename T, typename Attempt>
  void write(Done<T> done, Attempt attempt) {
    write(Ulid{}, std::move(done), std::move(attempt));
  }
  // For a tenant, or another owner of records; owners take turns.
  template <typename Kind, typename T, typename Attempt>
  void write(Id<Kind> whose, Done<T> done, Attempt attempt) {
    write(whose.ulid, std::move(done), std::move(attempt));
  }
  // For the server itself, in a transaction that takes only the locks of its own statements.
  template <typename T, typename Attempt>
  void write_unlocked(Done<T> done, Attempt attempt) {
    writer_.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::flow, std::move(attempt), std::move(done)));
  }
  // For the server itself.
  template <typename T, typename Attempt>
  void read(Done<T> done, Attempt attempt) {
    submit(readers_, {}, std::move(done), std::move(attempt));
  }
  // For a tenant, or another owner of records; owners take turns.
  template <typename Kind, typename T, typename Attempt>
  void read(Id<Kind> whose, Done<T> done, Attempt attempt) {
    submit(readers_, whose.ulid, std::move(done), std::move(attempt));
  }
  // For operations that may take long: they have their own threads, so that no other reading waits for them.
  template <typename T, typename Attempt>
  void search(model::TenantId whose, Done<T> done, Attempt attempt) {
    submit(searchers_, whose.ulid, std::move(done), std::move(attempt));
  }

 private:
  template <typename T, typename Attempt>
  void write(Ulid lane, Done<T> done, Attempt attempt) {
    writer_.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::boundary, std::move(attempt), std::move(done)),
                   lane);
  }
  template <typename T, typename Attempt>
  static void submit(Readers& readers, Ulid lane, Done<T> done, Attempt attempt) {
    readers.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::flow, std::move(attempt), std::move(done)),
                   lane);
  }

  Writer& writer_;
  Readers& readers_;
  Readers& searchers_;
  const Sharing sharing_;
  const int64_t search_ms_max_;
};

// Bounds of the readers that search: one search at a time, so that tenants take turns.
inline ReadBounds search_bounds() {
  return {.taken_max = 1,
          .tenant_waiting_max = Database::searches_waiting_max,
          .refusal = {ErrorKind::denied, "too many questions about tables of this workspace are waiting"}};
}

}  // namespace sluice::store
