#include "egress/shared_state.h"

#include <string_view>
#include <utility>

#include "egress/authority.h"
#include "egress/resolver.h"
#include "egress/tls.h"

namespace sluice::egress {
namespace {

constexpr std::string_view requests_name = "sluice_egress_requests_total";
constexpr std::string_view requests_help = "Requests that boxes made to the world, by how they ended.";
constexpr std::string_view bytes_name = "sluice_egress_bytes_total";
constexpr std::string_view bytes_help = "Bytes of bodies and tunnels between boxes and the world.";

}  // namespace

ProxyMetrics::ProxyMetrics(world::Metrics& registry)
    : passed(registry.counter(requests_name, requests_help, R"(outcome="passed")")),
      refused(registry.counter(requests_name, requests_help, R"(outcome="refused")")),
      failed(registry.counter(requests_name, requests_help, R"(outcome="failed")")),
      malformed(registry.counter(requests_name, requests_help, R"(outcome="malformed")")),
      left(registry.counter(requests_name, requests_help, R"(outcome="left")")),
      sent_bytes(registry.counter(bytes_name, bytes_help, R"(direction="sent")")),
      received_bytes(registry.counter(bytes_name, bytes_help, R"(direction="received")")),
      connections(registry.gauge("sluice_egress_connections", "Connections from boxes that are open.")),
      mint_time(registry.histogram("sluice_egress_leaf_mint_seconds", "Time to make a certificate for a host.")) {}

SharedState::SharedState(EgressOptions given, world::Reactor& the_reactor, world::Log& the_log,
                         world::Metrics& registry)
    : options(std::move(given)), reactor(the_reactor), log(the_log), metrics(registry) {}

SharedState::~SharedState() = default;

}  // namespace sluice::egress
