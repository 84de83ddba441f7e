#include "egress/egress.h"

#include <utility>

#include "base/json.h"
#include "egress/house.h"
#include "egress/outlet.h"
#include "egress/single_host.h"

namespace sluice::egress {
namespace {

constexpr std::string_view requests_name = "sluice_egress_requests_total";
constexpr std::string_view requests_help = "Requests that boxes made to the world, by how they ended.";
constexpr std::string_view bytes_name = "sluice_egress_bytes_total";
constexpr std::string_view bytes_help = "Bytes of bodies and tunnels between boxes and the world.";

class ProxyEgress final : public Egress {
 public:
  explicit ProxyEgress(std::shared_ptr<House> house) : house_(std::move(house)) {}
  std::unique_ptr<Outlet> open(OwnedFd listener_fd) override { return make_outlet(house_, std::move(listener_fd)); }
  std::unique_ptr<SingleHostWay> open_single_host(OwnedFd listener_fd, SingleHost to) override {
    return make_single_host_way(house_, std::move(listener_fd), std::move(to));
  }
  const std::string& ca_bundle_file() const override { return house_->authority->bundle_file(); }

 private:
  std::shared_ptr<House> house_;  // shared with the outlets
};

}  // namespace

Figures::Figures(world::Metrics& metrics)
    : passed(metrics.counter(requests_name, requests_help, R"(outcome="passed")")),
      refused(metrics.counter(requests_name, requests_help, R"(outcome="refused")")),
      failed(metrics.counter(requests_name, requests_help, R"(outcome="failed")")),
      malformed(metrics.counter(requests_name, requests_help, R"(outcome="malformed")")),
      left(metrics.counter(requests_name, requests_help, R"(outcome="left")")),
      sent_bytes(metrics.counter(bytes_name, bytes_help, R"(direction="sent")")),
      received_bytes(metrics.counter(bytes_name, bytes_help, R"(direction="received")")),
      connections(metrics.gauge("sluice_egress_connections", "Connections from boxes that are open.")),
      mint_time(metrics.histogram("sluice_egress_leaf_mint_seconds", "Time to make a certificate for a host.")) {}

Result<std::unique_ptr<Egress>> make_egress_with(Lookup lookup, EgressOptions options, world::Reactor& reactor,
                                                 world::Workers& workers, world::Entropy& entropy, world::Log& log,
                                                 world::Metrics& metrics) {
  auto house = std::make_shared<House>(std::move(options), reactor, log, metrics);
  const EgressOptions& wishes = house->options;
  auto resolver = Resolver::make(wishes.host_addresses, wishes.private_addresses, std::move(lookup), reactor, workers);
  if (!resolver) return std::move(resolver.error()).in("egress");
  auto tls = Tls::make(wishes.upstream_ca_file, wishes.house_certificate_file);
  if (!tls) return std::move(tls.error()).in("egress");
  auto authority = Authority::open(wishes.ca_dir, wishes.upstream_ca_file, reactor, entropy, house->figures.mint_time);
  if (!authority) return std::move(authority.error()).in("egress");
  house->resolver = std::move(resolver).take();
  house->tls = std::move(tls).take();
  house->authority = std::move(authority).take();
  return std::unique_ptr<Egress>(std::make_unique<ProxyEgress>(std::move(house)));
}

Result<std::unique_ptr<Egress>> make_egress(EgressOptions options, world::Reactor& reactor, world::Workers& workers,
                                            world::Entropy& entropy, world::Log& log, world::Metrics& metrics) {
  return make_egress_with(look_up_in_dns, std::move(options), reactor, workers, entropy, log, metrics);
}

std::map<std::string, std::string> box_environment() {
  const std::string proxy = "http://127.0.0.1:" + std::to_string(proxy_port);
  const std::string local = "localhost,127.0.0.1,::1";
  std::map<std::string, std::string> out = {{"HTTP_PROXY", proxy},      {"http_proxy", proxy}, {"HTTPS_PROXY", proxy},
                                            {"https_proxy", proxy},     {"NO_PROXY", local},   {"no_proxy", local},
                                            {"NODE_USE_ENV_PROXY", "1"}};
  for (const char* const name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
                                 "REQUESTS_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE"}) {
    out[name] = "/etc/ssl/certs/ca-certificates.crt";
  }
  return out;
}

std::string to_json(const Passage& passage) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("host").string(passage.host).key("port").integer(passage.port);
  writer.key("method").string(passage.method).key("status").integer(passage.status);
  writer.key("sent_bytes").integer(passage.sent_bytes).key("received_bytes").integer(passage.received_bytes);
  writer.key("aliases").begin_array();
  for (const auto& alias : passage.aliases) writer.string(alias);
  writer.end_array().key("refused");
  passage.refused.empty() ? writer.null() : writer.string(passage.refused);
  writer.key("duration_ms").integer(passage.duration_ms);
  if (passage.more > 0) writer.key("more").integer(passage.more).key("more_refused").integer(passage.more_refused);
  writer.end_object();
  return out;
}

}  // namespace sluice::egress
