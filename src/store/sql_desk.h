// Where the parts of a SqlStore hand in their work: each operation is done on its thread and answered on the loop's.
#pragma once

#include <memory>
#include <utility>

#include "store/sql_readers.h"
#include "store/sql_writer.h"

namespace sluice::store {

class SqlDesk {
 public:
  // `searchers` read for those who look through much.
  SqlDesk(Writer& writer, Readers& readers, Readers& searchers)
      : writer_(writer), readers_(readers), searchers_(searchers) {}

  // For the server itself. `attempt` is callable as Result<T>(Connection&), more than once.
  template <typename T, typename Attempt>
  void write(Done<T> done, Attempt attempt) {
    write(Ulid{}, std::move(done), std::move(attempt));
  }
  // A record of a tenant, or of another of those who take turns.
  template <typename Kind, typename T, typename Attempt>
  void write(Id<Kind> whose, Done<T> done, Attempt attempt) {
    write(whose.ulid, std::move(done), std::move(attempt));
  }
  // For the server itself.
  template <typename T, typename Attempt>
  void read(Done<T> done, Attempt attempt) {
    submit(readers_, {}, std::move(done), std::move(attempt));
  }
  // For a tenant, or another of those who take turns.
  template <typename Kind, typename T, typename Attempt>
  void read(Id<Kind> whose, Done<T> done, Attempt attempt) {
    submit(readers_, whose.ulid, std::move(done), std::move(attempt));
  }
  // What may take long: its own threads, so that no other reading waits for it.
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
};

}  // namespace sluice::store
