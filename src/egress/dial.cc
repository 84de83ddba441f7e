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

Error unavailable(std::string words) { return {ErrorKind::unavailable, std::move(words)}; }

}  // namespace

Dial::Dial(SharedState& shared, Requester requester, Destination to, Security security, Done done)
    : shared_(shared),
      to_(std::move(to)),
      security_(security),
      done_(std::move(done)),
      deadline_us_(shared.reactor.monotonic_us() + shared.options.connect_ms_max * 1000) {
  deadline_ = shared_.reactor.after({shared_.options.connect_ms_max}, [this] {
    dialing_.drop();
    const auto waited = std::to_string(shared_.options.connect_ms_max);
    std::exchange(done_, nullptr)(unavailable(to_.host + " did not answer within " + waited + " ms"));
  });
  dialing_.start(dial(std::move(requester)), [this](Dialed dialed) {
    deadline_.cancel();
    std::exchange(done_, nullptr)(std::move(dialed));
  });
}

Task<Dial::Dialed> Dial::dial(Requester requester) {
  auto found = co_await answer<Result<std::vector<Address>>>(
      [&](auto done) { shared_.resolver->resolve(requester, lifetime_.watch(), to_, std::move(done)); });
  if (!found && found.error().kind == ErrorKind::denied) co_return found.error();
  if (!found) co_return unavailable(to_.host + " cannot be found: " + found.error().what);
  const auto& addresses = found.value();
  std::string last_fault = "no address";
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto connected = co_await connect(addresses[i], addresses.size() - i);
    if (connected && security_ == Security::tls) co_return co_await secure(std::move(connected).take());
    if (connected || connected.error().kind == ErrorKind::denied) co_return connected;
    last_fault = std::move(connected.error().what);
  }
  co_return unavailable(to_.host + " cannot be reached: " + last_fault);
}

Task<Dial::Dialed> Dial::connect(Address address, std::size_t addresses_left) {
  OwnedFd fd(socket(address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_storage where{};
  const socklen_t size = fill_socket_address(address, to_.port, where);
  if (!fd || (::connect(fd.get(), reinterpret_cast<sockaddr*>(&where), size) != 0 && errno != EINPROGRESS)) {
    co_return unavailable(std::strerror(errno));
  }
  if (to_.reach == Reach::sandbox && leads_home(fd.get(), address) && !shared_.resolver->is_opened(address)) {
    co_return Error{ErrorKind::denied, to_.host + " leads to this machine, which no sandbox may reach"};
  }
  auto stream = std::make_unique<Stream>(shared_.reactor, std::move(fd), Stream::State::connecting);
  // The addresses that were not tried yet share the time that is left.
  const auto share_ms = left_ms() / static_cast<int64_t>(addresses_left);
  if (!co_await leaves_state(*stream, Stream::State::connecting, share_ms)) co_return unavailable("no answer");
  if (stream->state() == Stream::State::broken) co_return unavailable(stream->fault());
  co_return stream;
}

Task<Dial::Dialed> Dial::secure(std::unique_ptr<Stream> stream) {
  stream->secure(shared_.tls->connect(to_, stream->fd()));
  // The deadline of the whole attempt comes first.
  co_await leaves_state(*stream, Stream::State::handshaking, shared_.options.connect_ms_max);
  if (stream->state() == Stream::State::broken) co_return unavailable(to_.host + ": " + stream->fault());
  co_return stream;
}

// False if the stream is still in that state after `ms_max`.
Task<bool> Dial::leaves_state(Stream& stream, Stream::State state, int64_t ms_max) {
  const auto until_us = shared_.reactor.monotonic_us() + ms_max * 1000;
  while (stream.state() == state) {
    const auto left_ms = std::max<int64_t>(0, (until_us - shared_.reactor.monotonic_us()) / 1000);
    const bool changed = co_await answer<bool>([&](auto done) {
      stream.on_change([done]() mutable { done(true); });
      return shared_.reactor.after({left_ms}, [done]() mutable { done(false); });
    });
    if (!changed) co_return false;
  }
  co_return true;
}

int64_t Dial::left_ms() const { return std::max<int64_t>(1, (deadline_us_ - shared_.reactor.monotonic_us()) / 1000); }

}  // namespace sluice::egress
