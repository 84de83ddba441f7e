// The HTTP APIs of the server: routes and handlers. A handler turns a request into a checked command for a module
// below, and the result into an answer. README.md tells how a request flows through this folder.
//
// Called from the loop's thread, once per request, through handle().
// Not its business: how a run proceeds (engine), how a row is stored (store), what a socket is (net).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/request/needs.h"
#include "net/net.h"

namespace sluice::api {

class Api {
 public:
  virtual ~Api() = default;
  virtual void handle(std::shared_ptr<net::Exchange> exchange) = 0;
  // For net::ServerOptions: refuses a request without access to its route before its body is read.
  virtual void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) = 0;
  // The problem that answers a request which net itself refuses.
  virtual net::Response refusal(int status, std::string_view detail) const = 0;
  // Call once, after the engine has resumed the runs that the last server left.
  virtual void adopt_unfinished() = 0;
  // From now on /readyz and new messages are answered with 503; everything else still works.
  virtual void begin_drain() = 0;
  // A URL that opens the console once, within an hour. Empty if there is no console.
  virtual std::string make_console_url() = 0;
};

// For net::ServerOptions: file uploads and skill bundles may be larger than other bodies.
std::size_t body_bytes_max_of(std::string_view method, std::string_view path);

std::unique_ptr<Api> make_api(ApiNeeds needs, ApiOptions options);

}  // namespace sluice::api
