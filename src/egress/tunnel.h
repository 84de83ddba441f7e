// Bytes both ways, unseen, until both sides have said all they had to say. Only what the client says first is looked
// at: a TLS client must ask for the host that the tunnel leads to, or one allowed name would open every host behind the
// same address.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/callback.h"
#include "egress/destination.h"
#include "egress/stream.h"

namespace sluice::egress {

class Tunnel final {
 public:
  // `client` outlives this. `asks_for`: what a TLS client must ask for; empty: nothing is looked at. `wake` is called
  // from the loop when step() may get further.
  Tunnel(Stream& client, std::unique_ptr<Stream> upstream, std::optional<Destination> asks_for, Callback<void()> wake);

  // As far as it goes now. False: it is over.
  bool step();
  // Why it was broken off before anything was sent; empty: it was not.
  const std::string& fault() const { return fault_; }
  int64_t sent_bytes() const { return sent_bytes_; }
  int64_t received_bytes() const { return received_bytes_; }

 private:
  static std::size_t move(Stream& from, Stream& to);
  void look_at_first_words();

  Stream& client_;
  std::unique_ptr<Stream> upstream_;
  const std::optional<Destination> asks_for_;
  bool looked_;
  std::string fault_;
  int64_t sent_bytes_ = 0;
  int64_t received_bytes_ = 0;
};

}  // namespace sluice::egress
