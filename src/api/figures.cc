#include "api/figures.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace sluice::api {

Figures::Figures(world::Metrics& metrics) {
  const auto add = [&](std::string_view operation) {
    OfRoute figures{};
    const std::string label = "operation=\"" + std::string(operation) + "\"";
    for (std::size_t i = 0; i < figures.by_class.size(); ++i) {
      const std::string code = ",code=\"" + std::to_string(i + 1) + "xx\"";
      figures.by_class[i] = &metrics.counter("sluice_api_requests_total", "Requests answered.", label + code);
    }
    figures.duration =
        &metrics.histogram("sluice_api_request_seconds", "From the request to the last byte of its answer.", label);
    of_routes_.push_back(figures);
  };
  for (const Route& route : routes()) add(route.operation);
  add("none");
}

void Figures::served(const Route* route, int status, int64_t duration_us) {
  const std::size_t index =
      route == nullptr ? of_routes_.size() - 1 : static_cast<std::size_t>(route - routes().data());
  const OfRoute& figures = of_routes_[index];
  figures.by_class[static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1)]->add();
  figures.duration->observe_us(duration_us);
}

}  // namespace sluice::api
