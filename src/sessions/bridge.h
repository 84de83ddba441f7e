// The door in a sandbox's own loopback through which what runs in it reaches the host's tools: HTTP on 127.0.0.1:3129.
// There is no token: the caller is known by the listener. On the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "net/net.h"

namespace sluice::sessions {

// Answers HTTP on a listening socket; given by the owner of a reactor.
using ServeBridge = std::function<Result<std::unique_ptr<net::Server>>(OwnedFd listener, net::Handler handler)>;

// Of one sandbox, for as long as that lives.
class Bridge {
 public:
  // Why not, when the listener cannot be served.
  static Result<std::unique_ptr<Bridge>> open(const ServeBridge& serve, OwnedFd listener);
  ~Bridge();

 private:
  struct State;

 public:
  // A prefix that is answered until this is destroyed. It may outlive the bridge.
  class Route {
   public:
    Route(std::weak_ptr<State> state, std::string prefix) : state_(std::move(state)), prefix_(std::move(prefix)) {}
    ~Route();
    Route(const Route&) = delete;
    Route& operator=(const Route&) = delete;

   private:
    const std::weak_ptr<State> state_;
    const std::string prefix_;
  };

  // Requests for `prefix`, and for what lies below it, go to `handler`; others are answered 404. Not those of a browser
  // in the sandbox, which a page from outside could have sent there (DNS rebinding). One route for each prefix.
  [[nodiscard]] std::unique_ptr<Route> serve(std::string prefix, net::Handler handler);

 private:
  Bridge();

  const std::shared_ptr<State> state_;  // shared with the server's handler, and watched by routes that may go last
  std::unique_ptr<net::Server> server_;
};

inline constexpr std::string_view bridge_mcp_url = "http://127.0.0.1:3129/mcp";

}  // namespace sluice::sessions
