#include "runner/bridge.h"

#include <utility>

#include "runner/bridge_state.h"

namespace sluice::runner {
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

void Bridge::use(std::string prefix, net::Handler handler) {
  state_->handlers.insert_or_assign(std::move(prefix), std::move(handler));
}

void Bridge::take_away(std::string_view prefix) {
  const auto found = state_->handlers.find(prefix);
  if (found != state_->handlers.end()) state_->handlers.erase(found);
}

}  // namespace sluice::runner
