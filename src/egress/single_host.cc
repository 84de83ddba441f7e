#include "egress/single_host.h"

#include <utility>

#include "base/limits.h"
#include "egress/acceptor.h"
#include "egress/socks.h"

namespace sluice::egress {
namespace {

class ListeningWay final : public SingleHostWay {
 public:
  ListeningWay(std::shared_ptr<House> house, OwnedFd listener_fd, SingleHost to)
      : house_(std::move(house)),
        to_(std::move(to)),
        acceptor_(house_->reactor, std::move(listener_fd), [this](OwnedFd fd) { admit(std::move(fd)); }) {}
  ~ListeningWay() override { house_->figures.connections.add(-static_cast<int64_t>(passages_.size())); }

  const std::optional<Error>& fault() const override { return fault_; }

 private:
  using Passages = std::list<std::unique_ptr<SingleHostPassage>>;

  // One too many is closed: git tells that it could not connect.
  void admit(OwnedFd fd) {
    if (passages_.size() >= limits::single_host_connections_max) return;
    house_->figures.connections.add(1);
    const auto at = passages_.emplace(passages_.end());
    *at = std::make_unique<SingleHostPassage>(
        *house_, to_, std::move(fd),
        SingleHostPassage::Owner{.asker = {to_.tenant, this},
                                 .on_dial = [this](std::optional<Error> fault) { fault_ = std::move(fault); },
                                 .on_over = [this, at] { bury(at); }});
  }
  void bury(Passages::iterator passage) {
    house_->figures.connections.add(-1);
    buried_.splice(buried_.end(), passages_, passage);
    if (buried_.size() == 1) burial_ = house_->reactor.after({0}, [this] { buried_.clear(); });
  }

  const std::shared_ptr<House> house_;
  const SingleHost to_;
  std::optional<Error> fault_;
  Passages passages_;
  Passages buried_;  // until nobody can be inside of them
  world::Timer burial_;
  Acceptor acceptor_;
};

}  // namespace

SingleHostPassage::SingleHostPassage(House& house, const SingleHost& to, OwnedFd fd, Owner owner)
    : house_(house), to_(to), owner_(std::move(owner)), client_(house.reactor, std::move(fd), Stream::State::open) {
  client_.on_change([this] { pump(); });
  // However lively it is: whoever waits for git waits no longer.
  lifetime_ = house_.reactor.after({to_.lifetime_ms_max}, [this] { end(); });
  enter(Phase::greeting, house_.options.head_ms_max);
  if (!to_.asks_by_socks) dial();
}

void SingleHostPassage::pump() {
  if (phase_ == Phase::over) return;
  moved_us_ = house_.reactor.monotonic_us();
  do {
    while (phase_ != Phase::over && advance()) {
    }
    if (phase_ == Phase::over) return;
  } while (client_.settle());
  if (client_.state() == Stream::State::broken) end();
}

bool SingleHostPassage::advance() {
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

bool SingleHostPassage::take_greeting() {
  const auto read = read_socks_greeting(client_.input().substr(0, socks_bytes_max));
  if (read.kind == SocksRead::Kind::malformed || client_.ended()) return end(), false;
  if (read.kind == SocksRead::Kind::incomplete) return false;
  client_.consume(read.size);
  client_.write(socks_welcome());
  phase_ = Phase::request;
  return true;
}

bool SingleHostPassage::take_request() {
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

void SingleHostPassage::dial() {
  phase_ = Phase::dialing;
  timer_.cancel();  // the dial has a deadline of its own
  dial_ = std::make_unique<Dial>(house_, owner_.asker,
                                 Destination{.host = to_.name,
                                             .port = to_.port,
                                             .is_address = parse_address(to_.name).has_value(),
                                             .reach = to_.public_only ? Reach::public_only : Reach::anywhere},
                                 Security::plain,
                                 [this](Result<std::unique_ptr<Stream>> dialed) { on_dialed(std::move(dialed)); });
}

void SingleHostPassage::on_dialed(Result<std::unique_ptr<Stream>> dialed) {
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
  enter(Phase::tunnelling, house_.options.idle_ms_max);
  pump();
}

void SingleHostPassage::refuse(SocksReply reply) {
  if (to_.asks_by_socks) client_.write(socks_answer(reply));
  client_.end_writing();
  enter(Phase::lingering, linger_ms_max);
}

void SingleHostPassage::enter(Phase phase, int64_t patience_ms) {
  phase_ = phase;
  moved_us_ = house_.reactor.monotonic_us();
  timer_ = house_.reactor.after({patience_ms}, [this] { phase_ == Phase::tunnelling ? watch_idleness() : end(); });
}

void SingleHostPassage::watch_idleness() {
  const int64_t left_ms = house_.options.idle_ms_max - (house_.reactor.monotonic_us() - moved_us_) / 1000;
  if (left_ms <= 0) return end();
  timer_ = house_.reactor.after({left_ms}, [this] { watch_idleness(); });
}

void SingleHostPassage::end() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  timer_.cancel();
  lifetime_.cancel();
  dial_.reset();
  if (tunnel_) {
    house_.figures.sent_bytes.add(static_cast<uint64_t>(tunnel_->sent_bytes()));
    house_.figures.received_bytes.add(static_cast<uint64_t>(tunnel_->received_bytes()));
  }
  owner_.on_over();
}

std::unique_ptr<SingleHostWay> make_single_host_way(std::shared_ptr<House> house, OwnedFd listener_fd, SingleHost to) {
  return std::make_unique<ListeningWay>(std::move(house), std::move(listener_fd), std::move(to));
}

}  // namespace sluice::egress
