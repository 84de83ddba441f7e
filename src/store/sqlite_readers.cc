#include "store/sqlite_readers.h"

namespace sluice::store {

namespace {

constexpr std::size_t waiting_max = 50'000;
constexpr std::size_t taken_max = 16;  // so that threads share, and the first is not answered much later

void attempt(Work& work, Connection& db) {
  db.run("BEGIN");
  if (!db.failure()) work.attempt(db);
  if (const auto failure = db.take_failure()) work.fail(error_of(*failure));
  db.run("COMMIT");
  db.take_failure();  // there was nothing to commit
}

}  // namespace

Readers::Readers(std::vector<std::unique_ptr<Connection>> connections, std::string path, const Writer& writer,
                 Postman& postman)
    : path_(std::move(path)), writer_(writer), postman_(postman) {
  for (auto& db : connections) {
    threads_.emplace_back([this, db = std::move(db)]() mutable { run(std::move(db)); });
  }
}

Readers::~Readers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Readers::submit(std::unique_ptr<Work> work) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() < waiting_max) {
    waiting_.push_back(std::move(work));
    lock.unlock();
    return wake_.notify_one();
  }
  lock.unlock();
  work->fail({ErrorKind::overloaded, "too much is waiting to be read"});
  WorkList refused;
  refused.push_back(std::move(work));
  postman_.deliver(std::move(refused));
}

WorkList Readers::take_some() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  WorkList taken;
  while (!waiting_.empty() && taken.size() < taken_max) {
    taken.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return taken;
}

void Readers::run(std::unique_ptr<Connection> db) {
  uint64_t generation = 1;
  for (;;) {
    auto works = take_some();
    if (works.empty()) return;
    const uint64_t current = writer_.generation();
    if (db == nullptr || generation != current) {
      db.reset();
      auto opened = Connection::open(path_, Connection::Mode::reader);
      if (opened) db = std::move(opened).take();
      generation = current;
    }
    for (const auto& work : works) {
      if (db != nullptr) {
        attempt(*work, *db);
      } else {
        work->fail({ErrorKind::unavailable, "the database cannot be opened for reading"});
      }
    }
    postman_.deliver(std::move(works));
  }
}

}  // namespace sluice::store
