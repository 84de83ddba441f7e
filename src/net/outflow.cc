#include "net/outflow.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace sluice::net {
namespace {

constexpr std::size_t vectors_per_send_max = 64;

// What the kernel has taken from us and the peer's not from it. It says that there is room only when a third of a
// buffer of megabytes is free, which takes somebody who reads slowly a good while.
int64_t untaken_bytes_of(const Transport& transport) {
  int bytes = 0;
  return ioctl(transport.fd(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace

bool Outflow::send(Transport& transport, ServerContext& context) {
  bool moved = false;
  bool full = false;
  while (!outbox_.empty() && !full) {
    iovec vectors[vectors_per_send_max];
    const std::size_t count = outbox_.fill(vectors);
    const Io io = transport.send({vectors, count});
    if (io.outcome == IoOutcome::failed || io.outcome == IoOutcome::closed) return false;
    full = io.outcome != IoOutcome::done;
    if (full) break;
    moved = true;
    outbox_.consume(io.bytes);
    context.figures.sent_bytes.add(io.bytes);
  }
  if (full && (moved || !blocked_)) {
    stall_due_us_ = context.reactor.monotonic_us() + context.options.write_stall_ms_max * 1000;
    untaken_bytes_ = untaken_bytes_of(transport);
  }
  if (!full) stall_due_us_ = never;
  blocked_ = full;
  return true;
}

bool Outflow::is_stalled(const Transport& transport, const ServerContext& context) {
  const int64_t now_us = context.reactor.monotonic_us();
  if (now_us < stall_due_us_) return false;
  const int64_t untaken_bytes = untaken_bytes_of(transport);
  if (untaken_bytes >= untaken_bytes_) return true;
  untaken_bytes_ = untaken_bytes;
  stall_due_us_ = now_us + context.options.write_stall_ms_max * 1000;
  return false;
}

}  // namespace sluice::net
