// What all work of one dispatcher has in common.
#pragma once

#include "remote/fleet.h"
#include "remote/remote.h"
#include "remote/runner_requests.h"

namespace sluice::remote {

struct Context {
  Context(RemoteNeeds its_needs, RemoteOptions its_options)
      : needs(its_needs),
        options(std::move(its_options)),
        requests(needs.client, needs.loop),
        fleet(options.runner_urls, requests, needs.loop, needs.log, needs.metrics) {}

  const RemoteNeeds needs;
  const RemoteOptions options;
  RunnerRequests requests;
  Fleet fleet;
  world::Counter& reattached =
      needs.metrics.counter("sluice_runner_reattached_total", "Connections to runners that broke and were made again.");
  world::Counter& lost = needs.metrics.counter("sluice_runner_lost_total", "Dispatches lost with their runner.");
  world::Counter& started_elsewhere =
      needs.metrics.counter("sluice_runner_begun_anew_total", "Lost dispatches that another runner was given.");
};

}  // namespace sluice::remote
