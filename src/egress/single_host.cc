#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/limits.h"
#include "base/result.h"
#include "egress/acceptor.h"
#include "egress/dial.h"
#include "egress/egress.h"
#include "egress/shared_state.h"
#include "egress/socks.h"
#include "egress/stream.h"
#include "egress/tunnel.h"

namespace sluice::egress {
namespace {

// One connection, from its first byte to its last.
class SingleHostConnection final {
 public:
  struct Owner {
    Requester requester;                           // whose turn a lookup is
    Callback<void(std::optional<Error>)> on_dial;  // how it went
    Callback<void()> on_over;                      // once, perhaps from inside a callback of this: drop it later
  };
  // All must outlive this.
  SingleHostConnection(SharedState& shared, const SingleHost& to, OwnedFd fd, Owner owner);

 private:
  enum class Phase : uint8_t { greeting, request, dialing, tunnelling, lingering, over };

  void pump();
  // True: there may be more to do at once.
  bool advance();
  bool take_greeting();
  bool take_request();
  void dial();
  void on_dialed(Result<std::unique_ptr<Stream>> dialed);
  void refuse(SocksReply reply);
  void enter(Phase phase, int64_t patience_ms);
  void watch_idleness();
  void end();

  SharedState& shared_;
  const SingleHost& to_;
  Owner owner_;
  Stream client_;
  Phase phase_ = Phase::greeting;
  int64_t moved_us_ = 0;  // when anything last happened
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Tunnel> tunnel_;
  world::Timer timer_;
  world::Timer lifetime_;
};

class ListeningSingleHostProxy final : public SingleHostProxy {
 public:
  ListeningSingleHostProxy(std::shared_ptr<SharedState> shared, OwnedFd listener_fd, SingleHost to)
      : shared_(std::move(shared)),
        to_(std::move(to)),
        acceptor_(shared_->reactor, std::move(listener_fd), [this](OwnedFd fd) { admit(std::move(fd)); }) {}
  ~ListeningSingleHostProxy() override { shared_->metrics.connections.add(-static_cast<int64_t>(connections_.size())); }

  const std::optional<Error>& fault() const override { return fault_; }

 private:
  using Connections = std::list<std::unique_ptr<SingleHostConnection>>;

  // One too many is closed: git tells that it could not connect.
  void admit(OwnedFd fd) {
    if (connections_.size() >= limits::single_host_connections_max) return;
    shared_->metrics.connections.add(1);
    const auto at = connections_.emplace(connections_.end());
    *at = std::make_unique<SingleHostConnection>(
        *shared_, to_, std::move(fd),
        SingleHostConnection::Owner{.requester = {to_.tenant, this},
                                    .on_dial = [this](std::optional<Error> fault) { fault_ = std::move(fault); },
                                    .on_over = [this, at] { retire(at); }});
  }
  void retire(Connections::iterator connection) {
    shared_->metrics.connections.add(-1);
    closed_.splice(closed_.end(), connections_, connection);
    if (closed_.size() == 1) removal_ = shared_->reactor.after({0}, [this] { closed_.clear(); });
  }

  const std::shared_ptr<SharedState> shared_;
  const SingleHost to_;
  std::optional<Error> fault_;
  Connections connections_;
  Connections closed_;  // destroyed later, because one of them may be the caller
  world::Timer removal_;
  Acceptor acceptor_;
};

SingleHostConnection::SingleHostConnection(SharedState& shared, const SingleHost& to, OwnedFd fd, Owner owner)
    : shared_(shared), to_(to), owner_(std::move(owner)), client_(shared.reactor, std::move(fd), Stream::State::open) {
  client_.on_change([this] { pump(); });
  // A limit even for a connection that moves bytes: the caller of git waits no longer.
  lifetime_ = shared_.reactor.after({to_.lifetime_ms_max}, [this] { end(); });
  enter(Phase::greeting, shared_.options.head_ms_max);
  if (!to_.asks_by_socks) dial();
}

void SingleHostConnection::pump() {
  if (phase_ == Phase::over) return;
  moved_us_ = shared_.reactor.monotonic_us();
  do {
    while (phase_ != Phase::over && advance()) {
    }
    if (phase_ == Phase::over) return;
  } while (client_.settle());
  if (client_.state() == Stream::State::broken) end();
}

bool SingleHostConnection::advance() {
  if (client_.state() == Stream::State::broken) return end(), false;
  switch (phase_) {
    case Phase::greeting: return take_greeting();
    case Phase::request: return take_request();
    case Phase::tunnelling:
      if (!tunnel_->step()) end();
      return false;
    case Phase::lingering:
      client_.consume(client_.input().size());
      if (client_.ended() && client_.finished()) end();
      return false;
    default: return false;
  }
}

bool SingleHostConnection::take_greeting() {
  const auto read = read_socks_greeting(client_.input().substr(0, socks_bytes_max));
  if (read.kind == SocksRead::Kind::malformed || client_.ended()) return end(), false;
  if (read.kind == SocksRead::Kind::incomplete) return false;
  client_.consume(read.size);
  client_.write(socks_welcome());
  phase_ = Phase::request;
  return true;
}

bool SingleHostConnection::take_request() {
  const auto read = read_socks_request(client_.input().substr(0, socks_bytes_max));
  if (read.kind == SocksRead::Kind::malformed || client_.ended()) return end(), false;
  if (read.kind == SocksRead::Kind::incomplete) return false;
  client_.consume(read.size);
  if (read.command != socks_connect) return refuse(SocksReply::no_such_command), true;
  if (read.host != to_.name || read.port != to_.port) {
    owner_.on_dial(Error{ErrorKind::denied, "git asked for " + read.host + ":" + std::to_string(read.port) +
                                                ", and may reach " + to_.name + ":" + std::to_string(to_.port) +
                                                " only"});
    return refuse(SocksReply::not_allowed), true;
  }
  dial();
  return true;
}

void SingleHostConnection::dial() {
  phase_ = Phase::dialing;
  timer_.cancel();  // the dial has a deadline of its own
  dial_ = std::make_unique<Dial>(shared_, owner_.requester,
                                 Destination{.host = to_.name,
                                             .port = to_.port,
                                             .is_address = parse_address(to_.name).has_value(),
                                             .reach = to_.public_only ? Reach::public_only : Reach::anywhere},
                                 Security::plain,
                                 [this](Result<std::unique_ptr<Stream>> dialed) { on_dialed(std::move(dialed)); });
}

void SingleHostConnection::on_dialed(Result<std::unique_ptr<Stream>> dialed) {
  const auto dial = std::move(dial_);  // this is called by it
  if (!dialed) {
    const bool is_denied = dialed.error().kind == ErrorKind::denied;
    owner_.on_dial(std::move(dialed.error()));
    refuse(is_denied ? SocksReply::not_allowed : SocksReply::unreachable);
    return pump();
  }
  owner_.on_dial(std::nullopt);
  if (to_.asks_by_socks) client_.write(socks_answer(SocksReply::done));
  tunnel_ = std::make_unique<Tunnel>(client_, std::move(dialed).take(), std::nullopt, [this] { pump(); });
  enter(Phase::tunnelling, shared_.options.idle_ms_max);
  pump();
}

void SingleHostConnection::refuse(SocksReply reply) {
  if (to_.asks_by_socks) client_.write(socks_answer(reply));
  client_.end_writing();
  enter(Phase::lingering, linger_ms_max);
}

void SingleHostConnection::enter(Phase phase, int64_t patience_ms) {
  phase_ = phase;
  moved_us_ = shared_.reactor.monotonic_us();
  timer_ = shared_.reactor.after({patience_ms}, [this] { phase_ == Phase::tunnelling ? watch_idleness() : end(); });
}

void SingleHostConnection::watch_idleness() {
  const int64_t left_ms = shared_.options.idle_ms_max - (shared_.reactor.monotonic_us() - moved_us_) / 1000;
  if (left_ms <= 0) return end();
  timer_ = shared_.reactor.after({left_ms}, [this] { watch_idleness(); });
}

void SingleHostConnection::end() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  timer_.cancel();
  lifetime_.cancel();
  dial_.reset();
  if (tunnel_) {
    shared_.metrics.sent_bytes.add(static_cast<uint64_t>(tunnel_->sent_bytes()));
    shared_.metrics.received_bytes.add(static_cast<uint64_t>(tunnel_->received_bytes()));
  }
  owner_.on_over();
}

}  // namespace

std::unique_ptr<SingleHostProxy> make_single_host_proxy(std::shared_ptr<SharedState> shared, OwnedFd listener_fd,
                                                        SingleHost to) {
  return std::make_unique<ListeningSingleHostProxy>(std::move(shared), std::move(listener_fd), std::move(to));
}

}  // namespace sluice::egress
