// The threads that read. Each has a connection of its own, so nobody waits for the writer, and each
// operation sees the database as it was at one moment.
#pragma once

#include <thread>

#include "store/sql_writer.h"

namespace sluice::store {

// The database as a reader's thread has it.
class ReadSide {
 public:
  virtual ~ReadSide() = default;
  // From any thread.
  virtual Result<std::unique_ptr<Connection>> open_reader() const = 0;
};

class Readers {
 public:
  // One thread for each connection. `writer` tells when to reopen.
  Readers(std::vector<std::unique_ptr<Connection>> connections, const ReadSide& side, const Writer& writer,
          Postman& postman);
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  void submit(std::unique_ptr<Work> work) { waiting_.submit(std::move(work)); }

 private:
  void run(std::unique_ptr<Connection> db);
  void attempt(Work& work, std::unique_ptr<Connection>& db, bool& is_reading) const;

  const ReadSide& side_;
  const Writer& writer_;
  Postman& postman_;

  WaitingWorks<Work> waiting_;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::store
