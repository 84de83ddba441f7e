#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "net/connection.h"
#include "net/http1_connection.h"
#include "net/http2_connection.h"
#include "net/net.h"
#include "net/server_context.h"
#include "net/transport.h"

namespace sluice::net {

// The beginning of a connection, until it is known what the client speaks: TLS says so in its handshake, in the clear
// the first bytes do.
class Greeting final : public Connection, public std::enable_shared_from_this<Greeting> {
 public:
  Greeting(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller);

  void begin();
  void drain() override { close(); }
  void close() override;
  const Caller& caller() const override { return caller_; }

 private:
  void on_ready(world::Ready ready);
  void shake_hands();
  void read_first_bytes();
  void settle(Protocol protocol);

  ServerContext& context_;
  std::unique_ptr<Transport> transport_;  // null: it is over
  Caller caller_;
  std::string received_;  // fewer bytes than tell
  std::unique_ptr<world::Watch> watch_;
  world::Timer limit_;
  int64_t due_us_ = 0;  // an open connection owes us a request by then
  bool shaken_ = false;
};

namespace {

constexpr int accepts_per_turn_max = 64;
// How long accepting rests when the process has no descriptor left: the backlog keeps the clients,
// and a level-triggered listener would otherwise spin.
constexpr Millis accept_rest = {100};

Error system_error(const std::string& doing) {
  const int reason = errno;
  return {ErrorKind::unavailable, doing + ": " + std::strerror(reason)};
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
};

Result<Address> parse_address(const std::string& text, uint16_t port) {
  Address address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof *v4;
    return address;
  }
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof *v6;
    return address;
  }
  return Error{ErrorKind::invalid, "\"" + text + "\" is neither an IPv4 nor an IPv6 address"};
}

uint16_t port_of(const Address& address) {
  const bool is_v6 = address.storage.ss_family == AF_INET6;
  return ntohs(is_v6 ? reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port
                     : reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool is_v6 = address.storage.ss_family == AF_INET6;
  const void* const bytes =
      is_v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr);
  inet_ntop(address.storage.ss_family, bytes, text, sizeof text);
  return text;
}

// Linux hands these options down to accepted connections, which saves three calls for each. The time
// limit is for a machine that vanished without a word: heartbeats to it would fit in the kernel's buffer
// for hours.
void set_options(int fd, int64_t write_stall_ms_max) {
  const int on = 1;
  const int unacknowledged_ms_max = static_cast<int>(write_stall_ms_max);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms_max, sizeof unacknowledged_ms_max);
}

Result<OwnedFd> listen_on(Address& address, const ServerOptions& options) {
  OwnedFd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const std::string where = options.address + " port " + std::to_string(options.port);
  if (fd.get() < 0) return system_error("listen on " + where);
  set_options(fd.get(), options.write_stall_ms_max);
  if (bind(fd.get(), address.raw(), address.size) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return system_error("listen on " + where);
  }
  address.size = sizeof address.storage;
  if (getsockname(fd.get(), address.raw(), &address.size) != 0) return system_error("listen on " + where);
  return fd;
}

class HttpServer final : public Server {
 public:
  HttpServer(world::Reactor& reactor, ServerOptions options, Handler handler, Refusal refusal, world::Metrics& metrics)
      : context_{reactor,
                 std::move(options),
                 std::move(handler),
                 std::move(refusal),
                 ServerFigures(metrics),
                 [this](Connection& connection) { forget(connection); },
                 [this](Connection& greeting, Greeted greeted) { begin(greeting, std::move(greeted)); },
                 [this] { relieve_soon(); }} {}
  ~HttpServer() override {
    drained_.reset();
    close_all();
  }

  void begin(OwnedFd listener, uint16_t port, std::unique_ptr<TlsContext> tls) {
    listener_ = std::move(listener);
    port_ = port;
    tls_ = std::move(tls);
    watch_ = context_.reactor.watch(listener_.get(), {.read = true}, [this](world::Ready) { accept_waiting(); });
  }

  uint16_t port() const override { return port_; }
  std::size_t connection_count() const override { return connections_.size(); }
  void drain(Millis deadline, Callback<void()> done) override;

 private:
  void accept_waiting();
  void welcome(OwnedFd fd, const Address& peer);
  void begin(Connection& greeting, Greeted greeted);
  void turn_away(OwnedFd fd, std::string_view why);
  void forget(Connection& connection);
  std::vector<std::shared_ptr<Connection>> connections() const;
  void relieve_soon();
  void relieve();
  void close_all();
  void tell_drained();

  ServerContext context_;
  std::unique_ptr<TlsContext> tls_;
  uint16_t port_ = 0;
  OwnedFd listener_;
  std::unique_ptr<world::Watch> watch_;
  world::Timer rest_;
  world::Timer relief_;
  bool will_relieve_ = false;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  world::Timer drain_limit_;
  Callback<void()> drained_;
};

void HttpServer::accept_waiting() {
  for (int i = 0; i < accepts_per_turn_max; ++i) {
    Address peer;
    OwnedFd fd(accept4(listener_.get(), peer.raw(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() >= 0) {
      welcome(std::move(fd), peer);
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN) return;
    watch_->want({});
    rest_ = context_.reactor.after(accept_rest, [this] { watch_->want({.read = true}); });
    return;
  }
}

void HttpServer::welcome(OwnedFd fd, const Address& peer) {
  if (connections_.size() >= context_.options.connections_max) {
    return turn_away(std::move(fd), "the server has too many connections");
  }
  const std::string address = text_of(peer);
  auto origin = context_.origins.of(address);
  if (origin->strangers >= context_.options.keyless_connections_per_address_max) {
    return turn_away(std::move(fd), "too many connections from this address have shown no key");
  }
  auto transport = tls_ ? tls_->accept(std::move(fd)) : make_plain_transport(std::move(fd));
  const auto greeting = std::make_shared<Greeting>(context_, std::move(transport), Caller(address, std::move(origin)));
  connections_.emplace(greeting.get(), greeting);
  context_.figures.connections.add(1);
  greeting->begin();
}

void HttpServer::begin(Connection& greeting, Greeted greeted) {
  connections_.erase(&greeting);
  const auto go_on = [&](const auto& connection) {
    connections_.emplace(connection.get(), connection);
    connection->begin(greeted.received, greeted.due_us);
  };
  if (greeted.protocol == Protocol::http_2) {
    go_on(std::make_shared<Http2Connection>(context_, std::move(greeted.transport), std::move(greeted.caller)));
  } else {
    go_on(std::make_shared<Http1Connection>(context_, std::move(greeted.transport), std::move(greeted.caller)));
  }
}

void HttpServer::turn_away(OwnedFd fd, std::string_view why) {
  context_.figures.refused.add();
  if (tls_) return;  // a handshake to say no would cost more than a yes
  const Response response = context_.refusal(503, why);
  std::string text;
  append_head(text,
              {.status = response.status,
               .length = response.body.size(),
               .persistence = Persistence::close,
               .now = context_.reactor.now()},
              response.headers, context_.date);
  text += response.body;
  send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // Unread input would make the close a reset, which can overtake the answer.
  shutdown(fd.get(), SHUT_WR);
  recv(fd.get(), context_.input.data(), context_.input.size(), MSG_DONTWAIT);
}

void HttpServer::forget(Connection& connection) {
  if (connections_.erase(&connection) == 0) return;
  context_.figures.connections.add(-1);
  if (connections_.empty()) tell_drained();
}

std::vector<std::shared_ptr<Connection>> HttpServer::connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  return all;
}

// Not at once: a connection is at work when it counts.
void HttpServer::relieve_soon() {
  if (std::exchange(will_relieve_, true)) return;
  relief_ = context_.reactor.after({0}, [this] {
    will_relieve_ = false;
    relieve();
  });
}

// Closes connections whose peers are behind: those without a key first, then those of the tenant, or from the address,
// that holds the most. More than is needed now, so that it is not done for each answer. A connection that was answered
// a moment ago may hold something, too, but closing it would free nothing for long.
void HttpServer::relieve() {
  auto holding = connections();
  std::erase_if(holding, [](const auto& connection) { return !connection->is_behind(); });
  const auto weight = [](const auto& connection) {
    const Caller& caller = connection->caller();
    return std::tuple(!caller.is_known(),
                      caller.account() ? caller.account()->unread_bytes : caller.origin()->unread_bytes,
                      connection->unread_bytes());
  };
  std::ranges::sort(holding, std::greater<>(), weight);
  const std::size_t enough = context_.options.unread_answers_bytes_in_all_max / 8 * 7;
  for (const auto& connection : holding) {
    if (context_.unread_bytes <= enough) return;
    context_.figures.given_up.add();
    connection->close();
  }
}

void HttpServer::close_all() {
  for (const auto& connection : connections()) connection->close();
}

void HttpServer::drain(Millis deadline, Callback<void()> done) {
  SLUICE_CHECK(!context_.draining);
  context_.draining = true;
  rest_.cancel();
  watch_.reset();
  listener_.reset();
  drained_ = std::move(done);
  drain_limit_ = context_.reactor.after(deadline, [this] { close_all(); });
  for (const auto& connection : connections()) connection->drain();
  if (connections_.empty()) tell_drained();
}

void HttpServer::tell_drained() {
  if (!drained_) return;
  drain_limit_.cancel();
  // Later, because the caller may want to end this server in answer.
  context_.reactor.defer(std::move(drained_));
}

std::optional<Error> make_spool_dir(const std::string& path) {
  if (path.empty() || mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return std::nullopt;
  return system_error("make the directory for large request bodies, " + path);
}

Response plain_refusal(int status, std::string_view detail) {
  return {
      .status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::string(detail) + "\n"};
}

constexpr std::string_view http_2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace

Result<std::unique_ptr<Server>> serve(world::Reactor& reactor, ServerOptions options, Handler handler, Refusal refusal,
                                      world::Metrics& metrics) {
  std::unique_ptr<TlsContext> tls;
  if (!options.tls_certificate_file.empty()) {
    auto made = make_tls_context(options.tls_certificate_file, options.tls_key_file);
    if (!made) return std::move(made.error());
    tls = std::move(made).take();
  }
  if (auto error = make_spool_dir(options.spool_dir)) return std::move(*error);
  auto address = parse_address(options.address, options.port);
  if (!address) return std::move(address.error());
  auto listener = listen_on(address.value(), options);
  if (!listener) return std::move(listener.error());
  if (!refusal) refusal = plain_refusal;
  auto server =
      std::make_unique<HttpServer>(reactor, std::move(options), std::move(handler), std::move(refusal), metrics);
  server->begin(std::move(listener).take(), port_of(address.value()), std::move(tls));
  return std::unique_ptr<Server>(std::move(server));
}

Result<std::unique_ptr<Server>> serve_on(OwnedFd listener, world::Reactor& reactor, ServerOptions options,
                                         Handler handler, Refusal refusal, world::Metrics& metrics) {
  Address address;
  if (getsockname(listener.get(), address.raw(), &address.size) != 0) return system_error("serve a listening socket");
  if (auto error = make_spool_dir(options.spool_dir)) return std::move(*error);
  set_options(listener.get(), options.write_stall_ms_max);
  if (!refusal) refusal = plain_refusal;
  auto server =
      std::make_unique<HttpServer>(reactor, std::move(options), std::move(handler), std::move(refusal), metrics);
  server->begin(std::move(listener), port_of(address), nullptr);
  return std::unique_ptr<Server>(std::move(server));
}

// ── greetings ──

Greeting::Greeting(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller)
    : context_(context), transport_(std::move(transport)), caller_(std::move(caller)) {}

void Greeting::begin() {
  const int64_t ms_max = context_.options.request_head_ms_max;
  due_us_ = context_.reactor.monotonic_us() + ms_max * 1000;
  limit_ = context_.reactor.after({ms_max}, [this] { close(); });
  watch_ = context_.reactor.watch(transport_->fd(), {.read = true}, [this](world::Ready ready) { on_ready(ready); });
  shake_hands();
}

void Greeting::on_ready(world::Ready ready) {
  const auto self = shared_from_this();
  if (ready.hung_up) return close();
  if (shaken_) {
    read_first_bytes();
  } else {
    shake_hands();
  }
}

void Greeting::shake_hands() {
  switch (transport_->handshake()) {
    case IoOutcome::done: shaken_ = true; break;
    case IoOutcome::wants_read: return watch_->want({.read = true});
    case IoOutcome::wants_write: return watch_->want({.write = true});
    default: return close();
  }
  const Protocol protocol = transport_->protocol();
  if (protocol != Protocol::unsaid) return settle(protocol);
  watch_->want({.read = true});
}

void Greeting::read_first_bytes() {
  const Io io = transport_->receive(context_.input);
  if (io.outcome == IoOutcome::closed || io.outcome == IoOutcome::failed) return close();
  if (io.outcome != IoOutcome::done) return;
  received_.append(context_.input.data(), io.bytes);
  if (received_.starts_with(http_2_preface)) return settle(Protocol::http_2);
  if (!http_2_preface.starts_with(received_)) settle(Protocol::http_1);
}

void Greeting::settle(Protocol protocol) {
  const auto self = shared_from_this();
  watch_.reset();
  limit_.cancel();
  context_.greeted(*this, {.protocol = protocol,
                           .transport = std::move(transport_),
                           .caller = std::move(caller_),
                           .received = std::move(received_),
                           .due_us = due_us_});
}

void Greeting::close() {
  if (!transport_) return;
  const auto self = shared_from_this();
  watch_.reset();
  limit_.cancel();
  transport_.reset();
  context_.closed(*this);
}

}  // namespace sluice::net
