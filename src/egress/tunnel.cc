#include "egress/tunnel.h"

#include <algorithm>

#include "egress/client_hello.h"

namespace sluice::egress {

Tunnel::Tunnel(Stream& client, std::unique_ptr<Stream> upstream, std::optional<Destination> asks_for,
               Callback<void()> wake)
    : client_(client), upstream_(std::move(upstream)), asks_for_(std::move(asks_for)), looked_(!asks_for_) {
  upstream_->on_change(std::move(wake));
}

bool Tunnel::step() {
  for (bool moved = true; moved;) {
    if (!looked_) look_at_first_words();
    if (!fault_.empty()) {
      client_.break_off();
      upstream_->break_off();
      return false;
    }
    const std::size_t sent = looked_ ? move(client_, *upstream_) : 0;
    const std::size_t received = move(*upstream_, client_);
    sent_bytes_ += static_cast<int64_t>(sent);
    received_bytes_ += static_cast<int64_t>(received);
    const bool upstream_sent = upstream_->settle();
    const bool client_sent = client_.settle();
    moved = sent + received > 0 || upstream_sent || client_sent;
  }
  const bool broke = client_.state() == Stream::State::broken || upstream_->state() == Stream::State::broken;
  if (broke) {
    client_.break_off();
    upstream_->break_off();
  }
  return !broke && !(client_.finished() && upstream_->finished());
}

// A client that ends before it has said anything is let go on to end.
void Tunnel::look_at_first_words() {
  const auto hello = read_client_hello(client_.input());
  if (hello.kind == ClientHello::Kind::incomplete && !client_.ended()) return;
  looked_ = true;
  if (client_.input().empty()) return;
  fault_ = hello.kind == ClientHello::Kind::incomplete
               ? "the TLS handshake through the tunnel broke off"
               : fault_of(hello, asks_for_->host, asks_for_->is_address, asks_for_->port);
}

// When one side ends, the other side gets the end after all bytes.
std::size_t Tunnel::move(Stream& from, Stream& to) {
  const std::size_t count = std::min(from.input().size(), to.room());
  to.write(from.input().substr(0, count));
  from.consume(count);
  if (from.ended() && from.input().empty()) to.end_writing();
  return count;
}

}  // namespace sluice::egress
