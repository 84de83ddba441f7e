#include "egress/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace sluice::egress {
namespace {

constexpr int64_t accept_pause_ms = 100;  // when there are no descriptors left

}  // namespace

Acceptor::Acceptor(world::Reactor& reactor, OwnedFd listener_fd, Callback<void(OwnedFd)> admit)
    : reactor_(reactor), listener_fd_(std::move(listener_fd)), admit_(std::move(admit)) {
  const int flags = fcntl(listener_fd_.get(), F_GETFL);
  fcntl(listener_fd_.get(), F_SETFL, flags | O_NONBLOCK);
  watch();
}

void Acceptor::watch() {
  watch_ = reactor_.watch(listener_fd_.get(), {.read = true}, [this](world::Ready) { accept_waiting(); });
}

void Acceptor::accept_waiting() {
  for (int i = 0; i < accepts_per_turn_max; ++i) {
    OwnedFd fd(accept4(listener_fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      admit_(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    watch_.reset();
    pause_ = reactor_.after({accept_pause_ms}, [this] { watch(); });
    return;
  }
}

}  // namespace sluice::egress
