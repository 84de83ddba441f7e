#include "sessions/bridge.h"

#include <map>
#include <utility>

#include "base/check.h"

namespace sluice::sessions {
namespace {

void refuse(net::Exchange& exchange, int status, std::string_view words) {
  exchange.respond({.status = status,
                    .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                    .body = std::string(words) + "\n"});
}

bool is_this_door(std::string_view host) { return host == "127.0.0.1:3129" || host == "localhost:3129"; }

bool lies_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

}  // namespace

struct Bridge::State {
  std::map<std::string, net::Handler, std::less<>> handlers;  // by prefix
};

Bridge::Bridge() : state_(std::make_shared<State>()) {}

Bridge::~Bridge() = default;

Result<std::unique_ptr<Bridge>> Bridge::open(const ServeBridge& serve, OwnedFd listener) {
  std::unique_ptr<Bridge> bridge(new Bridge());
  auto server = serve(std::move(listener), [state = bridge->state_](const std::shared_ptr<net::Exchange>& exchange) {
    const auto& request = exchange->request();
    if (request.headers.find("Origin") || !is_this_door(request.headers.find("Host").value_or(""))) {
      return refuse(*exchange, 403, "This door is for programs of the sandbox, not for pages in a browser.");
    }
    for (const auto& [prefix, handler] : state->handlers) {
      if (!lies_below(request.path, prefix)) continue;
      const auto its = handler;  // it may be taken away meanwhile
      return its(exchange);
    }
    refuse(*exchange, 404, "There is nothing here.");
  });
  if (!server) return std::move(server.error());
  bridge->server_ = std::move(server).take();
  return bridge;
}

std::unique_ptr<Bridge::Route> Bridge::serve(std::string prefix, net::Handler handler) {
  const bool is_free = state_->handlers.try_emplace(prefix, std::move(handler)).second;
  SLUICE_CHECK(is_free);
  return std::make_unique<Route>(state_, std::move(prefix));
}

Bridge::Route::~Route() {
  if (const auto state = state_.lock()) state->handlers.erase(prefix_);
}

}  // namespace sluice::sessions
