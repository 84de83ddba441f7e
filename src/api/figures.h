// What operators see of each operation: how often, how it ended, how long it took.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "api/routes.h"
#include "world/metrics.h"

namespace sluice::api {

class Figures final {
 public:
  explicit Figures(world::Metrics& metrics);

  // `route` is an element of routes(), or null for a request that matched none.
  void served(const Route* route, int status, int64_t duration_us);

 private:
  struct OfRoute {
    std::array<world::Counter*, 5> by_class;  // 1xx … 5xx
    world::Histogram* duration;
  };
  std::vector<OfRoute> of_routes_;  // as routes(), then one for the unmatched
};

}  // namespace sluice::api
