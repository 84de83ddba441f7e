// A connection to a SQLite database.
#pragma once

#include <memory>
#include <unordered_map>

#include "store/sql_connection.h"

struct sqlite3;

namespace sluice::store {

class SqliteConnection : public Connection {
 public:
  enum class Mode : uint8_t { writer, reader };
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path, Mode mode);
  ~SqliteConnection() override;

  Dialect dialect() const override { return Dialect::sqlite; }
  Statement* prepare(std::string_view sql, std::span<const Value> values, Asked asked) override;
  void run(const char* sql) override;
  void begin_reading() override { run_prepared("BEGIN"); }
  void begin_writing() { run_prepared("BEGIN IMMEDIATE"); }
  void commit() override { run_prepared("COMMIT"); }
  int change_count() const override;
  std::vector<std::string> tables() override;
  std::vector<Column> columns(const std::string& table) override;

  // Before anything is written by a process, or after a failure: what the files say is on the disk afterwards.
  void settle();
  int wal_frame_count() const { return wal_frame_count_; }
  // Moves what the write-ahead log has into the database; `wait` for readers who still need it.
  enum class Wait : uint8_t { no, for_readers };
  struct Moved {
    int frame_count = 0;       // how much of the log is in the database now
    bool begins_anew = false;  // readers were waited for, and need nothing of it any more
  };
  Moved checkpoint(Wait wait);

  void fail_with(int code);

 protected:
  explicit SqliteConnection(sqlite3* db) : db_(db) {}
  // What a connection that writes is set to.
  void set_up_writing();
  sqlite3* handle() { return db_; }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void run_prepared(std::string_view sql);

  sqlite3* db_;
  std::unordered_map<std::string, std::unique_ptr<Statement>, TextHash, std::equal_to<>> statements_;
  int wal_frame_count_ = 0;
};

}  // namespace sluice::store
