// The threads that read. Each has a connection of its own, so nobody waits for the writer, and each
// operation sees the database as it was at one moment.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "store/sqlite_writer.h"

namespace sluice::store {

class Readers {
 public:
  // One thread for each connection. `writer` tells when to reopen.
  Readers(std::vector<std::unique_ptr<Connection>> connections, std::string path, const Writer& writer,
          Postman& postman);
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  void submit(std::unique_ptr<Work> work);

 private:
  void run(std::unique_ptr<Connection> db);
  WorkList take_some();

  const std::string path_;
  const Writer& writer_;
  Postman& postman_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Work>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace sluice::store
