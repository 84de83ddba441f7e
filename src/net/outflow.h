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
  int64_t look_due_us() const { return look_due_us_; }
  // Something waits for the peer, and it has taken nothing for ServerOptions::write_stall_ms_max. To be asked when it
  // is due; before that it is not looked at.
  [[nodiscard]] bool is_stalled(const Transport& transport, const ServerContext& context);
  // Before the socket is closed: what is left in it is the kernel's business.
  void let_go(const Transport& transport, const ServerContext& context);

  // Sends until all is gone or the socket is full. False: the connection is broken.
  [[nodiscard]] bool send(Transport& transport, ServerContext& context);

 private:
  void begin_watch(const Transport& transport, const ServerContext& context);

  Outbox outbox_;
  int64_t look_due_us_ = never;
  uint64_t taken_bytes_ = 0;  // by the peer, when it was last looked
  int64_t progress_us_ = 0;   // when that had become more
  bool is_ours_ = false;      // to give the peer up, and not the kernel's
  bool blocked_ = false;
};

}  // namespace sluice::net
