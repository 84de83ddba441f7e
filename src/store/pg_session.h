// One connection to PostgreSQL and the statements prepared on it.
//
// Like a Connection it remembers the first thing that went wrong, and from then on does nothing: whoever began the
// transaction looks once, at the end. Statements are sent together and answered together: what a group costs is one
// way there and back, however many statements it has. Waits, so it is for the store's own threads; one at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/pg_values.h"

struct pg_conn;
struct pg_result;

namespace sluice::store {

// What may be done after a failure.
enum class PgRemedy : uint8_t {
  again,      // it got in somebody's way: the same once more
  conflict,   // there is such a row already
  refuse,     // the values are such as PostgreSQL does not keep
  later,      // nothing was written: read-only, starting up, full
  reconnect,  // the connection is of no use any more
  human,      // what was read is not what was written
};

// The transaction waited for its next statement until the database ended the session, and undid it.
inline constexpr std::string_view idle_too_long = "25P03";

struct PgFailure {
  std::string sqlstate;  // empty when the connection broke without a word
  std::string what;
  // Of the statements that were sent together, the one that was refused; empty when nobody said which were done.
  std::optional<std::size_t> refused;
  std::string constraint;  // that was violated, if one was

  PgRemedy remedy() const;
};
Error error_of(const PgFailure& failure);

// What a statement gave.
class PgRows {
 public:
  explicit PgRows(pg_result* result = nullptr) : result_(result) {}
  PgRows(PgRows&& other) noexcept : result_(std::exchange(other.result_, nullptr)) {}
  PgRows& operator=(PgRows&& other) noexcept {
    std::swap(result_, other.result_);
    return *this;
  }
  ~PgRows();

  int count() const;
  int changed() const;  // rows that it inserted, updated, deleted
  bool is_null(int row, int column) const;
  int64_t number(int row, int column) const;          // 0 where it is null
  std::string_view bytes(int row, int column) const;  // of text, too; empty where it is null
  Ulid id(int row, int column) const;                 // all zero where it is none

  int column_count() const;
  std::string column_name(int column) const;
  uint32_t type_of(int column) const;  // as PgType numbers them

 private:
  pg_result* result_;
};

struct PgNotice {
  int sender = 0;  // the process that serves its session
  std::string payload;
};

class PgSession {
 public:
  struct Options {
    std::string url;
    std::string setup;  // statements for each session's start
    int answer_ms_max = 30'000;
    // The node whose session it is; none of a tool that takes its time. Other nodes end the sessions of one that is
    // dead, and the database those of one that it does not hear any more, so that nobody waits for what they lock.
    std::string node = {};
    int idle_ms_max = 0;  // how long a transaction may wait for its next statement; 0: as the database has it
  };
  static Result<std::unique_ptr<PgSession>> connect(const Options& options);

  ~PgSession();
  PgSession(const PgSession&) = delete;
  PgSession& operator=(const PgSession&) = delete;

  // Joins those that go with the next finish(). Prepared the first time, kept for good.
  void send(std::string_view sql, const PgValues& values = {});
  // Sends what was joined and waits: what each gave, in order. Empty when something went wrong.
  std::vector<PgRows> finish();
  // How many have been joined.
  std::size_t joined() const { return joined_; }
  PgRows execute(std::string_view sql, const PgValues& values = {});
  // One or more statements without values; not between send() and finish().
  void run(const char* sql);

  const std::optional<PgFailure>& failure() const { return failure_; }
  std::optional<PgFailure> take_failure() { return std::exchange(failure_, std::nullopt); }
  void fail_corrupt(std::string what);

  // Is anybody there? A look at what has arrived, not a question.
  bool is_alive();
  int process() const;  // that serves this session

  // For whoever LISTENs: becomes readable when there may be notices.
  int fd() const;
  std::vector<PgNotice> take_notices();

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Expected {
    std::string prepares;  // the statement; empty: it is one's execution
  };

  PgSession(pg_conn* connection, int answer_ms_max) : connection_(connection), answer_ms_max_(answer_ms_max) {}

  // Both false when the connection is lost, or nobody answers for too long.
  bool wait(bool to_write);
  bool flush();
  pg_result* next_result();
  void take_sync();
  void notice_lost_client();
  void note(pg_result* result, std::optional<std::size_t> statement);
  void lose();
  std::string scrubbed(std::string what) const;
  // What it remarks besides its answers: of that, only its last words matter.
  static void on_remark(void* self, const pg_result* remark);

  pg_conn* connection_;
  int answer_ms_max_;
  std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> statements_;  // SQL → name
  std::size_t named_ = 0;
  std::vector<Expected> expected_;
  std::size_t joined_ = 0;
  std::optional<PgFailure> failure_;
  bool is_gone_ = false;  // the server said so while nobody asked
};

}  // namespace sluice::store
