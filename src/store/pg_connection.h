// A Connection that is a session with PostgreSQL: how the SQL that both databases have in common is said to it.
//
// A text with a NUL character is refused (`invalid`): PostgreSQL cannot keep one, and we do not pretend.
#pragma once

#include <memory>
#include <unordered_map>

#include "store/pg_session.h"
#include "store/sql_connection.h"

namespace sluice::store {

// The same statement as PostgreSQL says it: `?` and `?N` are `$N`, a first NULL among VALUES is DEFAULT.
std::string to_postgres(std::string_view sql);

class PgConnection final : public Connection {
 public:
  // The session is somebody else's; without one, all fails as if it were lost.
  explicit PgConnection(PgSession* session) : session_(session) {}
  explicit PgConnection(std::unique_ptr<PgSession> session) : owned_(std::move(session)), session_(owned_.get()) {}

  Dialect dialect() const override { return Dialect::postgres; }
  Statement* prepare(std::string_view sql, std::span<const Value> values, Asked asked) override;
  void run(const char* sql) override;
  // Said together with the first question.
  void begin_reading() override { is_begin_due_ = true; }
  void commit() override {  // what was never begun need not end
    if (!std::exchange(is_begin_due_, false)) execute("COMMIT", PgValues());
  }
  int change_count() const override { return change_count_; }
  std::vector<std::string> tables() override;
  std::vector<Column> columns(const std::string& table) override;

 private:
  friend class PgStatement;
  PgRows execute(const std::string& sql, const PgValues& values);
  // What the session says went wrong.
  void take_over_failure();

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unique_ptr<PgSession> owned_;
  PgSession* session_;
  std::unordered_map<std::string, std::unique_ptr<Statement>, TextHash, std::equal_to<>> statements_;
  int change_count_ = 0;
  bool is_begin_due_ = false;
};

}  // namespace sluice::store
