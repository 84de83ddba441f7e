// The HTTP server and client of Sluice. The server delivers complete requests and takes streamed answers; the client
// streams the body of an answer to its listener. Bytes, limits, TLS and sockets end here.
//
// Called from the loop's thread. A handler sees an Exchange, which is the same for HTTP/1.1 and for HTTP/2: no handler
// knows what a chunk or a frame is. Not its business: who may send requests, what JSON means, what a route is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/callback.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/result.h"
#include "base/stranger_limits.h"
#include "http/headers.h"
#include "http/uri.h"
#include "http/url_rules.h"
#include "net/answer_account.h"
#include "net/body.h"
#include "world/world.h"

namespace sluice::net {

// What is known of HTTP without a socket is in src/http. This is what users of the server and the client need of it.
using http::fault_of_header;
using http::Header;
using http::Headers;
using http::is_allowed;
using http::is_plain_url;
using http::is_url_rule;
using http::parse_query;
using http::percent_decode;
using http::Reach;
using http::reach_of;

struct Request {
  std::string method;  // upper case as sent: "GET"
  std::string path;    // the target's path, still percent-encoded
  std::string query;   // without '?'
  Headers headers;
  Body body;         // whole, within the limit
  std::string peer;  // address of the caller
};

struct Response {
  int status = 200;
  Headers headers;  // Content-Length, Date and Connection are the server's own
  std::string body;
  SharedBytes shared_body = nullptr;  // instead of the body: what many answers share, so that each costs nothing
};

// One request and its answer. The handler and the connection share it, because either may leave first: the client hangs
// up while the run goes on, or the run ends while bytes are still in flight. The answer is either respond(), or start()
// then write()… then finish(). After the peer is gone every call does nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  virtual void respond(Response response) = 0;

  // Sends the head at once; a body of unknown length follows.
  virtual void start(int status, Headers headers) = 0;
  // Sent as soon as the socket takes it. Never blocks; see unsent_bytes().
  virtual void write(SharedBytes bytes) = 0;
  virtual void finish() = 0;
  // The body cannot be completed: closes so that the client sees a truncated stream, not an end.
  virtual void abort() = 0;

  // Written, and not yet taken by the kernel.
  virtual std::size_t unsent_bytes() const = 0;
  virtual bool gone() const = 0;

  // Called each time unsent_bytes() has fallen to zero, however quickly: who waits for room hears of it.
  virtual void on_drained(Callback<void()> then) = 0;
  // Called once, when the peer has closed, reset the stream, or the connection failed before the answer was complete.
  virtual void on_gone(Callback<void()> then) = 0;
  // The caller has shown a valid key: from now on its connection is not limited like those without a key.
  virtual void trust_caller() {}
  // What the connection holds unread counts there from now on: the answers of all connections of one tenant.
  virtual void charge_answers(std::shared_ptr<AnswerAccount> /*account*/) {}
  // From now on a peer that has closed its sending half is gone. Otherwise it may still read the answer:
  // until something is written, nothing tells the one from the other. For work that must not outlive
  // its caller. Over HTTP/2 a peer that leaves resets the stream, so this changes nothing.
  virtual void leave_at_half_close() = 0;
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

// What the server itself answers before any handler sees a request: 400, 408, 413, 431, 501, 503…
// The default is plain text; api gives problems.
using Refusal = std::function<Response(int status, std::string_view detail)>;

// How much a body may have that is asked for at this path, where that is more than usual, or where it is tiny because
// no key is asked for (up to limits::unjudged_body_bytes_max); 0 otherwise.
using BodyLimit = std::size_t (*)(std::string_view method, std::string_view path);

// Checks a request whose head has arrived and whose body is more than tiny, or of unknown size, before the body is
// read: a client without a key must fill neither memory nor disk. Calls `verdict` once, with the answer that refuses
// the request, or with nothing if the client has shown a valid key. The handler checks the key again, because not every
// request passes here.
using Doorkeeper = std::function<void(const Request& head, Callback<void(std::optional<Response>)> verdict)>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;                 // 0 picks a free one
  std::string tls_certificate_file;  // PEM chain; empty: no TLS
  std::string tls_key_file;
  std::size_t request_body_bytes_max = limits::request_body_bytes_max;
  BodyLimit body_bytes_max_of = nullptr;
  Doorkeeper doorkeeper = nullptr;
  // In memory: of all connections whose senders have shown a key; of all others; and of those from one address.
  std::size_t bodies_in_flight_bytes_max = limits::bodies_in_flight_bytes_max;
  std::size_t strangers_bytes_max = limits::strangers_bytes_max;
  std::size_t strangers_bytes_per_address_max = limits::strangers_bytes_per_address_max;
  // Where bodies larger than limits::request_body_memory_max are kept; made (0700) if missing. Empty: in memory too.
  std::string spool_dir;
  std::size_t spooled_bytes_max = limits::spooled_bytes_max;  // of all connections, there
  std::size_t connections_max = limits::connection_count_max;
  std::size_t keyless_connections_per_address_max = SIZE_MAX;  // of one address, whose callers have shown no key
  std::size_t unread_answers_bytes_in_all_max = limits::unread_answers_bytes_in_all_max;
  int64_t request_head_ms_max = limits::request_head_ms_max;
  int64_t request_body_ms_max = limits::request_body_ms_max;
  int64_t keep_alive_idle_ms_max = limits::keep_alive_idle_ms_max;
  int64_t write_stall_ms_max = limits::write_stall_ms_max;
  int half_closed_probe_seconds = 15;  // between two probes of a peer that has closed its sending half
};

class Server {
 public:
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  virtual std::size_t connection_count() const = 0;

  // Stops listening, closes idle connections, lets answers in flight end; at the deadline closes
  // what is left. `done` is called once, when no connection remains.
  virtual void drain(Millis deadline, Callback<void()> done) = 0;
};

Result<std::unique_ptr<Server>> serve(world::Reactor& reactor, ServerOptions options, Handler handler, Refusal refusal,
                                      world::Metrics& metrics);
// The same on a TCP socket that listens already, without TLS: the options' address and port do not count.
Result<std::unique_ptr<Server>> serve_on(OwnedFd listener, world::Reactor& reactor, ServerOptions options,
                                         Handler handler, Refusal refusal, world::Metrics& metrics);

// ── client ──────────────────────────────────────────────────────────────────────────────────────

struct ClientRequest {
  std::string method = "GET";
  std::string url;
  Headers headers;
  std::string body;
  // Somebody else chose where it leads: neither to this machine nor to its network or its cloud's own services,
  // whatever the name resolves to. Behind a proxy, which resolves names itself, only addresses and localhost are
  // refused.
  bool public_addresses_only = false;
  int64_t connect_ms_max = 10'000;
  int64_t idle_ms_max = 60'000;    // between two pieces of the answer
  int64_t total_ms_max = 600'000;  // 0: none
};

// What went wrong with a call, by what may be done next.
enum class CallFailure : uint8_t {
  unreachable,  // nothing was sent: name, connection, TLS
  timed_out,    // one of the three deadlines
  cut,          // the answer broke off
  refused,      // the URL or the request itself is not usable
};

struct CallEnd {
  std::optional<CallFailure> failure;  // empty: the answer is complete
  std::string what;                    // for people, when failed
};

// What a call hears. All from the loop's thread; after on_end() nothing more.
class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void on_head(int status, const Headers& headers) = 0;
  virtual void on_body(std::string_view bytes) = 0;
  virtual void on_end(CallEnd end) = 0;
};

// A call in flight. Dropping it cancels: the listener hears nothing more.
class Call {
 public:
  virtual ~Call() = default;
};

class Client {
 public:
  virtual ~Client() = default;
  // `listener` must outlive the Call. No callback comes from inside call().
  [[nodiscard]] virtual std::unique_ptr<Call> call(ClientRequest request, CallListener& listener) = 0;
};

struct ClientOptions {
  std::string proxy;    // "http://host:port"; empty: from http_proxy, https_proxy, no_proxy
  std::string ca_file;  // PEM; empty: the system's
};

Result<std::unique_ptr<Client>> make_client(world::Reactor& reactor, ClientOptions options);

}  // namespace sluice::net
