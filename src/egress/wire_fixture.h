// For tests: both ends of a conversation in HTTP, with sockets that block, in the clear or under TLS.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "egress/destination.h"
#include "egress/tls.h"
#include "http/body.h"
#include "http/head_parser.h"

namespace sluice::egress {

inline constexpr auto test_patience = std::chrono::seconds(60);

inline OwnedFd listen_on_loopback(uint16_t& port) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  SLUICE_CHECK(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd.get(), 128) == 0);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

struct Heard {
  http::RequestHead request;  // one of the two
  http::ResponseHead response;
  int status = 0;
  std::string body;
  bool complete = false;

  std::string field(std::string_view name) const {
    return std::string((status == 0 ? request.headers : response.headers).find(name).value_or("(none)"));
  }
};

// One end. Everything waits at most as long as a test has patience.
class Peer {
 public:
  explicit Peer(OwnedFd fd) : fd_(std::move(fd)) {
    const timeval patience{.tv_sec = test_patience.count()};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }

  // Sessions are the house's own, for OpenSSL's raise SIGPIPE when the other side is gone.
  bool shake_hands(const std::string& host, const std::string& ca_file) {
    tls_ = Tls::make(ca_file).take();
    session_ = tls_->connect({.host = host}, fd_.get());
    return SSL_do_handshake(session_.get()) == 1;
  }
  bool accept_hands(SSL_CTX* context) {
    tls_ = Tls::make("").take();
    session_ = tls_->accept(context, fd_.get());
    return SSL_do_handshake(session_.get()) == 1;
  }

  // False: the other side is gone.
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = session_ ? SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                    : send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_saying() { shutdown(fd_.get(), SHUT_WR); }
  void hang_up() {
    session_.reset();
    fd_.reset();
  }
  // From another thread: ends the waits below.
  void wake() { shutdown(fd_.get(), SHUT_RDWR); }

  Heard hear_request() {
    Heard out;
    if (!hear_head(out.request)) return out;
    http::BodyPlan plan;
    EXPECT_FALSE(http::plan_body(out.request, plan));
    hear_body(plan, out);
    return out;
  }
  Heard hear_answer(std::string_view method = "GET") {
    Heard out;
    do {
      if (!hear_head(out.response)) return out;
    } while (out.response.status < 200);
    out.status = out.response.status;
    http::BodyPlan plan;
    EXPECT_FALSE(http::plan_body(out.response, method, plan));
    if (method != "CONNECT" || out.status != 200) hear_body(plan, out);
    return out;
  }
  std::string hear(std::size_t size) {
    while (heard_.size() < size && hear_more()) {
    }
    std::string out = heard_.substr(0, size);
    heard_.erase(0, size);
    return out;
  }
  // All there is until the other side ends.
  std::string hear_all() {
    while (hear_more()) {
    }
    return std::exchange(heard_, {});
  }
  bool is_over() { return heard_.empty() && !hear_more(); }

 private:
  template <typename Head>
  bool hear_head(Head& out) {
    http::HeadParser<Head> parser(head_limits);
    for (;;) {
      heard_.erase(0, parser.feed(heard_));
      EXPECT_FALSE(parser.fault()) << parser.fault()->detail;
      if (parser.fault()) return false;
      if (parser.done()) return out = std::move(parser.head()), true;
      if (!hear_more()) return false;
    }
  }
  void hear_body(http::BodyPlan plan, Heard& out) {
    http::BodyReader reader(plan);
    while (!reader.done() && !reader.broken()) {
      std::string_view bytes = heard_;
      for (auto piece = reader.next(bytes); !piece.empty(); piece = reader.next(bytes)) out.body += piece;
      heard_.erase(0, heard_.size() - bytes.size());
      if (!reader.done() && heard_.empty() && !hear_more()) reader.end();
    }
    out.complete = reader.done();
  }
  bool hear_more() {
    char bytes[16 * 1024];
    const ssize_t got =
        session_ ? SSL_read(session_.get(), bytes, sizeof bytes) : recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got < 0 && errno == EAGAIN) ADD_FAILURE() << "waited in vain; heard so far: " << heard_;
    if (got <= 0) return false;
    heard_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  OwnedFd fd_;
  std::unique_ptr<Tls> tls_;
  OpenSslPtr<SSL> session_;
  std::string heard_;
};

class Client final : public Peer {
 public:
  explicit Client(uint16_t port) : Peer(connected(port)) {}
  bool start_tls(const std::string& host, const std::string& ca_file) { return is_secure = shake_hands(host, ca_file); }
  bool is_secure = false;

 private:
  static OwnedFd connected(uint16_t port) {
    OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SLUICE_CHECK(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return fd;
  }
};

}  // namespace sluice::egress
