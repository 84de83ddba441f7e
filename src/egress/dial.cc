#include "egress/dial.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "egress/resolver.h"

namespace sluice::egress {
namespace {

// An address of this machine is reached from itself.
bool leads_home(int fd, const Address& address) {
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0) return true;
  return address_of(reinterpret_cast<const sockaddr&>(local)) == address;
}

}  // namespace

Dial::Dial(SharedState& shared, const Requester& requester, Destination to, Security security, Done done)
    : shared_(shared),
      to_(std::move(to)),
      security_(security),
      done_(std::move(done)),
      self_(std::make_shared<Dial*>(this)),
      deadline_us_(shared.reactor.monotonic_us() + shared.options.connect_ms_max * 1000) {
  deadline_ = shared_.reactor.after({shared_.options.connect_ms_max}, [this] {
    give_up(to_.host + " did not answer within " + std::to_string(shared_.options.connect_ms_max) + " ms");
  });
  shared_.resolver->resolve(requester, self_, to_,
                            [weak = std::weak_ptr(self_)](Result<std::vector<Address>> addresses) {
                              if (const auto self = weak.lock()) (*self)->on_resolved(std::move(addresses));
                            });
}

Dial::~Dial() = default;

void Dial::on_resolved(Result<std::vector<Address>> addresses) {
  if (!addresses && addresses.error().kind == ErrorKind::denied) return finish(addresses.error());
  if (!addresses) return give_up(to_.host + " cannot be found: " + addresses.error().what);
  addresses_ = std::move(addresses).take();
  try_next();
}

void Dial::try_next() {
  for (; next_ < addresses_.size();) {
    const Address& address = addresses_[next_++];
    OwnedFd fd(socket(address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_storage where{};
    const socklen_t size = fill_socket_address(address, to_.port, where);
    if (!fd || (connect(fd.get(), reinterpret_cast<sockaddr*>(&where), size) != 0 && errno != EINPROGRESS)) {
      last_fault_ = std::strerror(errno);
      continue;
    }
    if (to_.reach == Reach::sandbox && leads_home(fd.get(), address) && !shared_.resolver->is_opened(address)) {
      return finish(Error{ErrorKind::denied, to_.host + " leads to this machine, which no sandbox may reach"});
    }
    stream_ = std::make_unique<Stream>(shared_.reactor, std::move(fd), Stream::State::connecting);
    stream_->on_change([this] { on_change(); });
    const int64_t left_ms = std::max<int64_t>(1, (deadline_us_ - shared_.reactor.monotonic_us()) / 1000);
    const auto share = static_cast<int64_t>(addresses_.size() - next_ + 1);
    attempt_ = shared_.reactor.after({left_ms / share}, [this] {
      last_fault_ = "no answer";
      try_next();
    });
    return;
  }
  give_up(to_.host + " cannot be reached: " + last_fault_);
}

void Dial::on_change() {
  switch (stream_->state()) {
    case Stream::State::connecting:
    case Stream::State::handshaking: return;
    case Stream::State::broken:
      if (secured_) return give_up(to_.host + ": " + stream_->fault());
      last_fault_ = stream_->fault();
      return try_next();
    case Stream::State::open: break;
  }
  attempt_.cancel();
  if (security_ == Security::plain || secured_) return finish(std::move(stream_));
  secured_ = true;
  stream_->secure(shared_.tls->connect(to_, stream_->fd()));
  if (stream_->state() != Stream::State::handshaking) on_change();
}

void Dial::finish(Result<std::unique_ptr<Stream>> result) {
  deadline_.cancel();
  attempt_.cancel();
  auto done = std::move(done_);
  done(std::move(result));
}

}  // namespace sluice::egress
