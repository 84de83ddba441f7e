// What all outlets of one egress share.
#pragma once

#include <memory>

#include "egress/authority.h"
#include "egress/egress.h"
#include "egress/passage_report.h"
#include "egress/resolver.h"
#include "egress/tls.h"
#include "world/world.h"

namespace sluice::egress {

inline constexpr int64_t linger_ms_max = 2'000;  // for a sandbox that still sends while it has been answered

struct Figures {
  explicit Figures(world::Metrics& metrics);
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

struct House {
  House(EgressOptions given, world::Reactor& its_reactor, world::Log& its_log, world::Metrics& metrics)
      : options(std::move(given)), reactor(its_reactor), log(its_log), figures(metrics) {}

  const EgressOptions options;
  world::Reactor& reactor;
  world::Log& log;
  // Of all sandboxes together, and of those of one tenant.
  SharedLineBudget refusal_lines{{.at_once = 1'000, .per_second = 50}, {.at_once = 200, .per_second = 10}};
  Figures figures;
  std::unique_ptr<Resolver> resolver;
  std::unique_ptr<Tls> tls;
  std::unique_ptr<Authority> authority;
};

// make_egress() with another way to look up names.
Result<std::unique_ptr<Egress>> make_egress_with(Lookup lookup, EgressOptions options, world::Reactor& reactor,
                                                 world::Workers& workers, world::Entropy& entropy, world::Log& log,
                                                 world::Metrics& metrics);

}  // namespace sluice::egress
