// Copies bytes both ways, without decrypting them, until both sides have closed. Only the client's first bytes are
// inspected: a TLS client must ask for the host that the tunnel leads to, otherwise one allowed name would open every
// host behind the same address. Used on the loop's thread only.
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
  // `client` must outlive this. A TLS client must ask for `asks_for`; if it is empty nothing is inspected. `wake` is
  // called from the loop when step() can move more.
  Tunnel(Stream& client, std::unique_ptr<Stream> upstream, std::optional<Destination> asks_for, Callback<void()> wake);

  // Moves as many bytes as possible now. False: the tunnel is over.
  bool step();
  // The reason why it was refused before anything was sent; empty otherwise.
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
