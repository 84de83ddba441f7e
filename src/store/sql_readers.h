// What reads: threads, as a rule. Each has a connection of its own, so nobody waits for the writer, and each
// operation sees the database as it was at one moment.
#pragma once

#include "store/sql_writer.h"

namespace sluice::store {

// The database as a reader's thread has it.
class ReadSide {
 public:
  virtual ~ReadSide() = default;
  // From any thread.
  virtual Result<std::shared_ptr<Connection>> open_reader() const = 0;
};

// How much one tenant may ask of a pool of readers.
struct ReadBounds {
  std::size_t taken_max = 16;  // by a thread at once: so that threads share, and the first is not answered much later
  std::size_t tenant_waiting_max = WaitingWorks<Work>::waiting_max / 4;
  Error refusal = {ErrorKind::overloaded, "too much of this tenant is waiting to be read"};
};

using ReadConnections = std::vector<std::shared_ptr<Connection>>;
inline ReadConnections opened_when_needed(std::size_t count) { return ReadConnections(count); }

class Readers {
 public:
  // One executor for each connection; one that is null is opened when it is needed. `writer` tells when to reopen.
  Readers(ReadConnections connections, const ReadSide& side, const Writer& writer, LoopPoster& poster,
          ReadBounds bounds = {}, const Executors& executors = thread_of_its_own);
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // `lane`: who asks. Tenants take turns.
  void submit(std::unique_ptr<Work> work, WaitingWorks<Work>::Lane lane) { waiting_.submit(std::move(work), lane); }

 private:
  struct Reader {
    std::shared_ptr<Connection> db;
    uint64_t generation = 1;
  };
  bool turn(Reader& reader);
  void attempt(Work& work, std::shared_ptr<Connection>& db, bool& is_reading) const;

  const ReadSide& side_;
  const Writer& writer_;
  LoopPoster& poster_;
  const std::size_t taken_max_;

  WaitingWorks<Work> waiting_;
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace sluice::store
