#include "net/greeting.h"

namespace sluice::net {
namespace {

constexpr std::string_view http_2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace

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
