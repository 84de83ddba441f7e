// Metrics of each operation: number of requests, classes of status codes, durations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "api/request/route.h"
#include "world/metrics.h"

namespace sluice::api {

class RequestMetrics final {
 public:
  RequestMetrics(world::Metrics& metrics, std::span<const Route> routes);

  // `route` is an element of `routes`, or null for a request that matched none.
  void served(const Route* route, int status, int64_t duration_us);

 private:
  struct OfRoute {
    std::array<world::Counter*, 5> by_class;  // 1xx … 5xx
    world::Histogram* duration;
  };
  std::span<const Route> routes_;
  std::vector<OfRoute> of_routes_;  // in the order of routes_, then one for requests without a route
};

}  // namespace sluice::api
