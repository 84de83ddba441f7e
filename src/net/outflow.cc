#include "net/outflow.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace sluice::net {
namespace {

constexpr std::size_t vectors_per_send_max = 64;

// What the kernel has taken from us and the peer not from it. Whether there is room says little: it does so only when a
// third of a buffer of megabytes is free, which takes somebody who reads slowly a good while.
int64_t untaken_bytes_of(const Transport& transport) {
  int bytes = 0;
  return ioctl(transport.fd(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

// As the kernel has it; the one of the C library ends before.
struct LongTcpInfo {
  tcp_info known;
  uint64_t pacing_rate, pacing_rate_max, acknowledged_bytes;
};
static_assert(offsetof(LongTcpInfo, acknowledged_bytes) == 120);

// None where the kernel does not say.
std::optional<uint64_t> taken_bytes_of(const Transport& transport) {
  LongTcpInfo info{};
  socklen_t size = sizeof info;
  if (getsockopt(transport.fd(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < sizeof info) return std::nullopt;
  return info.acknowledged_bytes;
}

void set_kernels_patience(const Transport& transport, int64_t ms) {
  const int unacknowledged_ms_max = static_cast<int>(ms);
  setsockopt(transport.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms_max, sizeof unacknowledged_ms_max);
}

int64_t look_us(const ServerContext& context) { return context.options.write_stall_ms_max * 1000 / 4; }

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
  blocked_ = full;
  if ((moved || full) && look_due_us_ == never) begin_watch(transport, context);
  return true;
}

void Outflow::begin_watch(const Transport& transport, const ServerContext& context) {
  const auto taken_bytes = taken_bytes_of(transport);
  if (!taken_bytes) return;  // the kernel's own patience must do
  taken_bytes_ = *taken_bytes;
  progress_us_ = context.reactor.monotonic_us();
  look_due_us_ = progress_us_ + look_us(context);
}

bool Outflow::is_stalled(const Transport& transport, const ServerContext& context) {
  const int64_t now_us = context.reactor.monotonic_us();
  if (now_us < look_due_us_) return false;
  if (!blocked_ && untaken_bytes_of(transport) == 0) {
    let_go(transport, context);
    look_due_us_ = never;
    return false;
  }
  // The kernel would count from when there was no room for the next segment, whatever the peer takes of it meanwhile.
  if (!std::exchange(is_ours_, true)) set_kernels_patience(transport, 0);
  const auto taken_bytes = taken_bytes_of(transport).value_or(taken_bytes_);
  if (std::exchange(taken_bytes_, taken_bytes) != taken_bytes) progress_us_ = now_us;
  look_due_us_ = now_us + look_us(context);
  return now_us - progress_us_ >= context.options.write_stall_ms_max * 1000;
}

void Outflow::let_go(const Transport& transport, const ServerContext& context) {
  if (std::exchange(is_ours_, false)) set_kernels_patience(transport, context.options.write_stall_ms_max);
}

}  // namespace sluice::net
