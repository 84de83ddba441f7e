#include "egress/tunnel.h"

#include <algorithm>

namespace sluice::egress {

Tunnel::Tunnel(Stream& client, std::unique_ptr<Stream> upstream, Callback<void()> wake)
    : client_(client), upstream_(std::move(upstream)) {
  upstream_->on_change(std::move(wake));
}

bool Tunnel::step() {
  for (bool moved = true; moved;) {
    const std::size_t sent = move(client_, *upstream_);
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

// What one side ends, the other is told once it has got everything.
std::size_t Tunnel::move(Stream& from, Stream& to) {
  const std::size_t count = std::min(from.input().size(), to.room());
  to.write(from.input().substr(0, count));
  from.consume(count);
  if (from.ended() && from.input().empty()) to.end_writing();
  return count;
}

}  // namespace sluice::egress
