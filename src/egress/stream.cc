#include "egress/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace sluice::egress {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;

}  // namespace

void ByteQueue::consume(std::size_t count) {
  SLUICE_CHECK(count <= size());
  front_ += count;
  if (front_ == bytes_.size()) {
    bytes_.clear();
    front_ = 0;
  } else if (front_ > bytes_.size() / 2) {
    bytes_.erase(0, front_);
    front_ = 0;
  }
}

void ByteQueue::rest() {
  if (size() == 0) bytes_ = {};
}

Stream::Stream(world::Reactor& reactor, OwnedFd fd, State state)
    : reactor_(reactor), fd_(std::move(fd)), state_(state) {
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  watch_ = reactor_.watch(fd_.get(), {.read = state == State::open, .write = state == State::connecting},
                          [this](world::Ready ready) { on_ready(ready); });
}

Stream::~Stream() = default;

void Stream::secure(OpenSslPtr<SSL> session) {
  if (state_ != State::open || in_.size() > 0) {
    breaks("bytes came before the TLS handshake");
    return arrange();
  }
  session_ = std::move(session);
  state_ = State::handshaking;
  shake_hands();
  arrange();
}

void Stream::rest() {
  in_.rest();
  out_.rest();
}

void Stream::break_off() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void Stream::on_ready(world::Ready ready) {
  if (ready.hung_up) hung_up_ = true;
  if (state_ == State::connecting) {
    finish_connecting();  // and reads nothing yet: it may be for TLS to read
  } else {
    if (state_ == State::handshaking) shake_hands();
    if (state_ == State::open) read_some();
    if (state_ == State::open) flush();
  }
  arrange();
  if (!on_change_) return;
  const auto watch = lifetime_.watch();
  auto on_change = std::move(on_change_);
  on_change();
  if (watch.is_over()) return;
  if (!on_change_) on_change_ = std::move(on_change);
}

void Stream::finish_connecting() {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return breaks(std::strerror(error));
  state_ = State::open;
}

bool Stream::waits(int returned, std::string_view doing) {
  switch (SSL_get_error(session_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return true;
    case SSL_ERROR_WANT_WRITE: return tls_writes_ = true;
    case SSL_ERROR_ZERO_RETURN: ended_ = true; return false;
    default: break;
  }
  const long verified = SSL_get_verify_result(session_.get());
  if (verified != X509_V_OK) {
    breaks("its certificate could not be verified: " + std::string(X509_verify_cert_error_string(verified)));
  } else {
    breaks(std::string(doing) + " failed: " + openssl_words());
  }
  return false;
}

void Stream::shake_hands() {
  ERR_clear_error();
  tls_writes_ = false;
  const int returned = SSL_do_handshake(session_.get());
  if (returned == 1) {
    state_ = State::open;
  } else if (!waits(returned, "the TLS handshake") && state_ != State::broken) {
    breaks("the TLS handshake was broken off");
  }
}

void Stream::read_some() {
  while (wants_input() && read_once()) {
  }
}

bool Stream::read_once() {
  char bytes[read_bytes];
  if (session_) {
    ERR_clear_error();
    std::size_t got = 0;
    const int returned = SSL_read_ex(session_.get(), bytes, sizeof bytes, &got);
    if (returned != 1) return waits(returned, "reading under TLS"), false;
    in_.back().append(bytes, got);
    return true;
  }
  const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got > 0) in_.back().append(bytes, static_cast<std::size_t>(got));
  if (got == 0) ended_ = true;
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno != EAGAIN) breaks(std::strerror(errno));
  return got == static_cast<ssize_t>(sizeof bytes);  // less: there is no more now, and the kernel will say
}

void Stream::flush() {
  bool goes_on = true;
  while (goes_on && out_.size() > 0 && state_ == State::open) flush_once(goes_on);
  if (out_.size() == 0 && ends_ && !finished_ && state_ == State::open) finish_writing();
}

void Stream::flush_once(bool& goes_on) {
  const std::string_view bytes = out_.view();
  if (session_) {
    ERR_clear_error();
    tls_writes_ = false;
    std::size_t sent = 0;
    const int returned = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
    if (returned == 1) return out_.consume(sent);
    goes_on = false;
    if (!waits(returned, "writing under TLS") && state_ != State::broken) breaks("the peer has left");
    return;
  }
  const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return out_.consume(static_cast<std::size_t>(sent));
  if (errno == EINTR) return;
  goes_on = false;
  if (errno != EAGAIN) breaks(std::strerror(errno));
}

void Stream::finish_writing() {
  finished_ = true;
  if (session_) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
  shutdown(fd_.get(), SHUT_WR);
}

bool Stream::settle() {
  const std::size_t before = unsent();
  if (state_ == State::open) flush();
  arrange();
  return unsent() < before;
}

bool Stream::wants_input() const { return state_ == State::open && !ended_ && in_.size() < buffer_bytes_max; }

void Stream::arrange() {
  const bool reads = wants_input() || state_ == State::handshaking;
  if (hung_up_ || state_ == State::broken) {
    // What is still to be read is in the kernel already; what is to be written has nowhere to go.
    watch_.reset();
  } else {
    const bool writes = state_ == State::connecting || tls_writes_ || (state_ == State::open && out_.size() > 0);
    watch_->want({.read = reads, .write = writes});
  }
  const bool unseen = hung_up_ || (session_ && SSL_has_pending(session_.get()) == 1);
  if (wants_input() && unseen) again_ = reactor_.after({0}, [this] { on_ready({.readable = true}); });
}

void Stream::breaks(std::string fault) {
  if (state_ == State::broken) return;
  state_ = State::broken;
  fault_ = std::move(fault);
  out_.clear();
}

}  // namespace sluice::egress
