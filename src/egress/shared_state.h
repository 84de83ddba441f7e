// What all proxies of one Egress share: options, the resolver, the certificate authority and the metrics. Used on the
// loop's thread only. Nothing here belongs to one run; see session.h for that.
#pragma once

#include <memory>

#include "egress/egress.h"
#include "egress/lookups.h"
#include "egress/request_report.h"
#include "world/world.h"

namespace sluice::egress {

class Authority;
class Resolver;
class Tls;

inline constexpr int64_t linger_ms_max = 2'000;  // for a sandbox that still sends after it was answered

struct ProxyMetrics {
  explicit ProxyMetrics(world::Metrics& registry);
  world::Counter& passed;
  world::Counter& refused;
  world::Counter& failed;
  world::Counter& malformed;
  world::Counter& left;
  world::Counter& sent_bytes;
  world::Counter& received_bytes;
  world::Gauge& connections;
  world::Histogram& mint_time;
};

struct SharedState {
  SharedState(EgressOptions given, world::Reactor& the_reactor, world::Log& the_log, world::Metrics& registry);
  ~SharedState();

  const EgressOptions options;
  world::Reactor& reactor;
  world::Log& log;
  // Lines about refused requests, of all sandboxes together and of those of one tenant.
  SharedLineBudget refusal_lines{{.at_once = 1'000, .per_second = 50}, {.at_once = 200, .per_second = 10}};
  ProxyMetrics metrics;
  std::unique_ptr<Resolver> resolver;
  std::unique_ptr<Tls> tls;
  std::unique_ptr<Authority> authority;
};

std::unique_ptr<SingleHostProxy> make_single_host_proxy(std::shared_ptr<SharedState> shared, OwnedFd listener_fd,
                                                        SingleHost to);

// make_egress() with another way to look up names.
Result<std::unique_ptr<Egress>> make_egress_with(Lookup lookup, EgressOptions options, world::Reactor& reactor,
                                                 world::Workers& workers, world::Entropy& entropy, world::Log& log,
                                                 world::Metrics& metrics);

}  // namespace sluice::egress
