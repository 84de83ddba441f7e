#include "egress/pool.h"

#include <algorithm>

namespace sluice::egress {

std::unique_ptr<Stream> Pool::take(const Destination& to) {
  // The connection that was used last is the likeliest to be still open.
  const auto at = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.to == to; });
  if (at == idle_.rend()) return nullptr;
  auto stream = std::move(at->stream);
  idle_.erase(std::next(at).base());
  return stream;
}

void Pool::put(const Destination& to, std::unique_ptr<Stream> stream) {
  if (stream->state() != Stream::State::open || stream->ended() || !stream->input().empty()) return;
  if (idle_.size() == count_max) idle_.pop_front();
  const uint64_t number = ++last_number_;
  // Bytes that arrive now answer no request: the end of the connection, or an attempt to poison the next response.
  stream->on_change([this, number, it = stream.get()] {
    if (it->state() != Stream::State::open || it->ended() || !it->input().empty()) drop(number);
  });
  stream->rest();
  static_cast<void>(stream->settle());  // it has nothing to send, and is to be watched
  idle_.push_back({number, to, std::move(stream), reactor_.after({idle_ms_max}, [this, number] { drop(number); })});
}

void Pool::drop(uint64_t number) {
  std::erase_if(idle_, [&](const Idle& idle) { return idle.number == number; });
}

}  // namespace sluice::egress
