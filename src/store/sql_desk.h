// Where the parts of a SqlStore hand in their work: each operation is done on its thread and answered on the loop's.
#pragma once

#include <memory>
#include <utility>

#include "store/sql_readers.h"
#include "store/sql_writer.h"

namespace sluice::store {

class SqlDesk {
 public:
  SqlDesk(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  // `attempt` is callable as Result<T>(Connection&), more than once.
  template <typename T, typename Attempt>
  void write(Done<T> done, Attempt attempt) {
    writer_.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::boundary, std::move(attempt), std::move(done)));
  }
  template <typename T, typename Attempt>
  void read(Done<T> done, Attempt attempt) {
    readers_.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::flow, std::move(attempt), std::move(done)));
  }

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace sluice::store
