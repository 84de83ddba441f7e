// What leaves on a connection: an outbox, and whether the socket takes it.
#pragma once

#include <cstdint>

#include "net/outbox.h"
#include "net/server_context.h"
#include "net/transport.h"

namespace sluice::net {

class Outflow final {
 public:
  static constexpr int64_t never = INT64_MAX;

  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }
  // The socket is full: it must become writable first.
  bool blocked() const { return blocked_; }
  // When to look whether the peer is to be given up.
  int64_t stall_due_us() const { return stall_due_us_; }
  // That time has come, and the peer has taken nothing since. One that takes a little has as long again.
  [[nodiscard]] bool is_stalled(const Transport& transport, const ServerContext& context);

  // Sends until all is gone or the socket is full. False: the connection is broken.
  [[nodiscard]] bool send(Transport& transport, ServerContext& context);

 private:
  Outbox outbox_;
  int64_t stall_due_us_ = never;
  int64_t untaken_bytes_ = 0;  // that the kernel held when the time began
  bool blocked_ = false;
};

}  // namespace sluice::net
