#include "net/outflow.h"

namespace sluice::net {
namespace {

constexpr std::size_t vectors_per_send_max = 64;

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
  }
  if (!full) stall_due_us_ = never;
  blocked_ = full;
  return true;
}

}  // namespace sluice::net
