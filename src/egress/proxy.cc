#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <utility>

#include "egress/acceptor.h"
#include "egress/authority.h"
#include "egress/connection.h"
#include "egress/egress.h"
#include "egress/resolver.h"
#include "egress/session.h"
#include "egress/shared_state.h"
#include "egress/tls.h"
#include "egress/upstream_request.h"

namespace sluice::egress {
namespace {

// The proxy of one sandbox: accepts connections through its listener and owns them.
class ListeningProxy final : public SandboxProxy {
 public:
  ListeningProxy(std::shared_ptr<SharedState> shared, OwnedFd listener_fd);
  ~ListeningProxy() override { end_connections(); }

  void serve(RunAccess access, SandboxProxyListener& listener) override {
    end_connections();
    session_.begin(std::move(access), listener);
  }
  std::vector<RequestRecord> break_off() override;
  void refuse_all() override {
    end_connections();
    session_.end();
  }
  void settle(uint64_t number, bool go_on, std::string_view words) override { session_.settle(number, go_on, words); }
  void hold(bool held) override;
  int64_t sent_for_good() const override { return session_.sent_for_good(); }

 private:
  using Connections = std::list<std::unique_ptr<Connection>>;

  void admit(OwnedFd fd);
  void retire(Connections::iterator connection);
  void end_connections();

  std::shared_ptr<SharedState> shared_;
  Session session_;
  Connections connections_;
  Connections closed_;  // destroyed later, because one of them may be the caller
  world::Timer removal_;
  Acceptor acceptor_;
};

ListeningProxy::ListeningProxy(std::shared_ptr<SharedState> shared, OwnedFd listener_fd)
    : shared_(std::move(shared)),
      session_(shared_),
      acceptor_(shared_->reactor, std::move(listener_fd), [this](OwnedFd fd) { admit(std::move(fd)); }) {}

void ListeningProxy::admit(OwnedFd fd) {
  if (connections_.size() >= static_cast<std::size_t>(shared_->options.connections_per_box_max)) {
    const std::string words = own_answer(503, "this sandbox has too many connections open; close some", false, "");
    send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL);
    return;
  }
  shared_->metrics.connections.add(1);
  connections_.emplace_back();
  const auto at = std::prev(connections_.end());
  *at = std::make_unique<Connection>(session_, std::move(fd), [this, at] { retire(at); });
}

void ListeningProxy::retire(Connections::iterator connection) {
  shared_->metrics.connections.add(-1);
  closed_.splice(closed_.end(), connections_, connection);
  if (closed_.size() == 1) removal_ = shared_->reactor.after({0}, [this] { closed_.clear(); });
}

void ListeningProxy::hold(bool held) {
  session_.hold(held);
  if (held) return;
  // One that is woken may end, and leaves the list then.
  for (auto at = connections_.begin(); at != connections_.end();) (*at++)->wake();
}

std::vector<RequestRecord> ListeningProxy::break_off() {
  std::vector<RequestRecord> unfinished;
  for (const auto& connection : connections_) {
    auto record = connection->unfinished();
    if (record && session_.count(*record)) unfinished.push_back(*std::move(record));
  }
  auto records = session_.take_unreported();
  std::ranges::move(unfinished, std::back_inserter(records));
  end_connections();
  return records;
}

void ListeningProxy::end_connections() {
  shared_->metrics.connections.add(-static_cast<int64_t>(connections_.size()));
  connections_.clear();
  closed_.clear();
}

class ProxyEgress final : public Egress {
 public:
  explicit ProxyEgress(std::shared_ptr<SharedState> shared) : shared_(std::move(shared)) {}
  std::unique_ptr<SandboxProxy> open(OwnedFd listener_fd) override {
    return std::make_unique<ListeningProxy>(shared_, std::move(listener_fd));
  }
  std::unique_ptr<SingleHostProxy> open_single_host(OwnedFd listener_fd, SingleHost to) override {
    return make_single_host_proxy(shared_, std::move(listener_fd), std::move(to));
  }
  const std::string& ca_bundle_file() const override { return shared_->authority->bundle_file(); }

 private:
  std::shared_ptr<SharedState> shared_;  // shared with the proxies
};

}  // namespace

Result<std::unique_ptr<Egress>> make_egress_with(Lookup lookup, EgressOptions options, world::Reactor& reactor,
                                                 world::Workers& workers, world::Entropy& entropy, world::Log& log,
                                                 world::Metrics& metrics) {
  auto shared = std::make_shared<SharedState>(std::move(options), reactor, log, metrics);
  const EgressOptions& wishes = shared->options;
  auto resolver = Resolver::make(wishes.host_addresses, wishes.private_addresses, std::move(lookup), reactor, workers);
  if (!resolver) return std::move(resolver.error()).in("egress");
  auto tls = Tls::make(wishes.upstream_ca_file, wishes.own_certificate_file);
  if (!tls) return std::move(tls.error()).in("egress");
  auto authority = Authority::open(wishes.ca_dir, wishes.upstream_ca_file, reactor, entropy, shared->metrics.mint_time);
  if (!authority) return std::move(authority.error()).in("egress");
  shared->resolver = std::move(resolver).take();
  shared->tls = std::move(tls).take();
  shared->authority = std::move(authority).take();
  return std::unique_ptr<Egress>(std::make_unique<ProxyEgress>(std::move(shared)));
}

Result<std::unique_ptr<Egress>> make_egress(EgressOptions options, world::Reactor& reactor, world::Workers& workers,
                                            world::Entropy& entropy, world::Log& log, world::Metrics& metrics) {
  return make_egress_with(look_up_in_dns, std::move(options), reactor, workers, entropy, log, metrics);
}

}  // namespace sluice::egress
