// One connection to the database and the statements prepared on it.
//
// A Connection remembers the first thing that went wrong, and from then on its statements do
// nothing. So what is written with it reads as if nothing could go wrong, and whoever began the
// transaction looks once, at the end, whether it did. Used by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::store {

struct Failure {
  int code;  // SQLite's primary result code
  std::string what;
};
Error error_of(const Failure& failure);

class Connection {
 public:
  enum class Mode : uint8_t { writer, reader };
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode);

  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Prepared once, kept for good; empty when something went wrong, now or before.
  sqlite3_stmt* prepare(std::string_view sql);
  // One or more statements without values.
  void run(const char* sql);

  int64_t last_number() const;  // of the row inserted last
  int change_count() const;     // rows that the last statement changed
  int wal_frame_count() const { return wal_frame_count_; }
  // Moves what the write-ahead log has into the database; `wait` for readers who still need it.
  enum class Wait : uint8_t { no, for_readers };
  void checkpoint(Wait wait);

  void fail(int code);
  // What was read is not what was written.
  void fail_corrupt(std::string what);
  const std::optional<Failure>& failure() const { return failure_; }
  std::optional<Failure> take_failure() { return std::exchange(failure_, std::nullopt); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  explicit Connection(sqlite3* db) : db_(db) {}

  sqlite3* db_;
  std::unordered_map<std::string, sqlite3_stmt*, TextHash, std::equal_to<>> statements_;
  std::optional<Failure> failure_;
  int wal_frame_count_ = 0;
};

}  // namespace sluice::store
