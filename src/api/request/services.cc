#include "api/request/services.h"

#include <algorithm>
#include <utility>

namespace sluice::api {

void OpenAnswers::let_go(const OpenAnswer& answer) {
  auto found = open_.extract(&answer);
  if (found.empty()) return;
  leaving_.push_back(std::move(found.mapped()));
  if (leaving_.size() > 1) return;
  loop_.defer(lifetime_.guard([this] { std::exchange(leaving_, {}).clear(); }));
}

RequestMetrics::RequestMetrics(world::Metrics& metrics, std::span<const Route> routes) : routes_(routes) {
  const auto add = [&](std::string_view operation) {
    OfRoute of_route{};
    const std::string label = "operation=\"" + std::string(operation) + "\"";
    for (std::size_t i = 0; i < of_route.by_class.size(); ++i) {
      const std::string code = ",code=\"" + std::to_string(i + 1) + "xx\"";
      of_route.by_class[i] = &metrics.counter("sluice_api_requests_total", "Requests answered.", label + code);
    }
    of_route.duration =
        &metrics.histogram("sluice_api_request_seconds", "From the request to the last byte of its answer.", label);
    of_routes_.push_back(of_route);
  };
  for (const Route& route : routes_) add(route.operation);
  add("none");
}

void RequestMetrics::served(const Route* route, int status, int64_t duration_us) {
  const std::size_t index = route == nullptr ? of_routes_.size() - 1 : static_cast<std::size_t>(route - routes_.data());
  const OfRoute& of_route = of_routes_[index];
  of_route.by_class[static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1)]->add();
  of_route.duration->observe_us(duration_us);
}

}  // namespace sluice::api
