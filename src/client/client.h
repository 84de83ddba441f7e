// The C++ client: the parsing recipe and the reconcile path of the streaming contract (I-24).
//
// EventStream is pure: bytes in, events out. Session talks to a server through net::Client, from
// the loop's thread. It never re-sends a message: after a cut it reads on, or polls the history, or,
// where the caller gave an Idempotency-Key, repeats the request so that the server replays it.
// Not its business: what a person sees of an event (cli), where the key came from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::client {

// A line without end would fill the memory; a message of 8 MiB, escaped, still fits.
inline constexpr std::size_t line_bytes_max = 16 * 1024 * 1024;
// The same for an answer that is not a stream.
inline constexpr std::size_t reply_bytes_max = 64 * 1024 * 1024;

// One line of a stream. `data` is its JSON.
struct Event {
  std::string type;
  std::string conversation_id;
  std::string message_id;  // empty on `queued`
  int64_t seq = 0;
  std::string data;
  std::string line;  // as it came

  bool terminal() const { return type == "message_end" || type == "error"; }
};

// Partial reads, split UTF-8, blank lines, unknown types, seq check, terminal rule.
class EventStream {
 public:
  explicit EventStream(int64_t first_seq = 0) : expected_seq_(first_seq) {}

  // The events completed by these bytes. `corrupt` on a gap, a malformed line, anything after the
  // terminal or a line over the limit: the stream counts as truncated, now and for good; reconcile.
  // No event is delivered from bytes that turn out to be corrupt.
  Result<std::vector<Event>> feed(std::string_view bytes);

  // The connection closed. True when it closed after the terminal with nothing left over.
  bool complete() const;
  int64_t next_seq() const { return expected_seq_; }

 private:
  Result<Event> read_line(std::string_view line);
  Error give_up(std::string_view why);

  std::string buffer_;
  std::size_t scanned_ = 0;  // of the buffer: no newline before this
  int64_t expected_seq_;
  bool terminal_seen_ = false;
  bool corrupt_ = false;
};

struct Server {
  std::string base_url;  // "http://127.0.0.1:8080"
  std::string key;       // empty: none is sent
};

struct Reply {
  int status = 0;
  net::Headers headers;
  std::string body;
};

// Something under way. Dropping it stops listening, which changes nothing on the server.
class Pending {
 public:
  virtual ~Pending() = default;
};

// What a followed message amounts to.
struct Outcome {
  enum class Kind : uint8_t {
    completed,  // json: the message
    failed,     // json: the problem; where only the history could be read, the failed message
    refused,    // json: the problem that came instead of a stream
    unknown,    // the server could not be reached (again); detail says more. The run may go on.
  };
  Kind kind = Kind::unknown;
  std::string json;
  std::string detail;
  int status = 0;
};

// The connection that a message is followed on.
enum class Link : uint8_t { lost, back };

// Who follows a message. Neither call may drop the handle.
struct Hearing {
  std::function<void(const Event&)> on_event;       // each event once, in order
  std::function<void(Link)> on_link = [](Link) {};  // an outage that lasts outage_notice_ms, and its end
};

struct SessionOptions {
  int64_t poll_first_ms = 500;  // between two attempts after a cut: doubled each time
  int64_t poll_ms_max = 5'000;
  int64_t outage_notice_ms = 3'000;
  int64_t give_up_ms = 600'000;   // of not reaching the server
  int64_t idle_ms_max = 300'000;  // of silence in a stream, after which it counts as cut
  bool reattach = true;           // read on with GET …/events?after=; false: only poll, as the contract has it
  bool full = false;              // hear of steps, files and the rest too; numbers count those events then
};

class Session {
 public:
  // `client` and `loop` must outlive the session; the session, all that is pending.
  Session(Server server, SessionOptions options, net::Client& client, world::Loop& loop);

  // One request, one answer, whatever its status. `unavailable` when none came.
  [[nodiscard]] std::unique_ptr<Pending> request(std::string method, std::string path, std::string body,
                                                 net::Headers headers, Callback<void(Result<Reply>)> done);

  // Sends a message once and follows it to its end: live, and after a cut by re-attaching or by
  // polling the history.
  [[nodiscard]] std::unique_ptr<Pending> send_message(std::string conversation_id, std::string body,
                                                      net::Headers headers, Hearing hearing,
                                                      Callback<void(Outcome)> done);

  // Follows a message that exists, from after `after` (-1: from its first event).
  [[nodiscard]] std::unique_ptr<Pending> follow(std::string message_id, int64_t after, Hearing hearing,
                                                Callback<void(Outcome)> done);

 private:
  Server server_;
  SessionOptions options_;
  net::Client& client_;
  world::Loop& loop_;
};

}  // namespace sluice::client
