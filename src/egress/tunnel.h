// Bytes both ways, unseen, until both sides have said all they had to say.
#pragma once

#include <cstdint>
#include <memory>

#include "base/callback.h"
#include "egress/stream.h"

namespace sluice::egress {

class Tunnel final {
 public:
  // `client` outlives this. `wake` is called from the loop when step() may get further.
  Tunnel(Stream& client, std::unique_ptr<Stream> upstream, Callback<void()> wake);

  // As far as it goes now. False: it is over.
  bool step();
  int64_t sent_bytes() const { return sent_bytes_; }
  int64_t received_bytes() const { return received_bytes_; }

 private:
  static std::size_t move(Stream& from, Stream& to);

  Stream& client_;
  std::unique_ptr<Stream> upstream_;
  int64_t sent_bytes_ = 0;
  int64_t received_bytes_ = 0;
};

}  // namespace sluice::egress
