// Every route of the server, as one table. What is not a row is 404; a test walks it, and another
// compares it with openapi.yaml.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice::api {

class RequestContext;

// A request being answered. Shared by the callbacks it waits for: whichever ends last lets it go.
using Asked = std::shared_ptr<RequestContext>;

// Who may ask.
enum class Access : uint8_t {
  open,             // anybody
  service,          // a service key
  service_write,    // a service key of a tenant that is not suspended
  admin,            // the admin key
  metrics,          // the admin key, or anybody where the configuration says so
  workspace,        // a service key of the workspace in the path, or a sandbox's bearer
  workspace_write,  // a service key of that workspace, of a tenant that is not suspended
  workspace_guest,  // the same, or a sandbox's bearer: what an agent may read and write
  bearer,           // the bearer of the execution in the path, which the handler looks at
  setup_token,      // a one-time token of the execution in the path, which the handler spends
  run_token,
  upload_token,
};

// For runners elsewhere: no key is asked for, and the handler looks at what they have.
constexpr bool is_callback(Access access) {
  return access == Access::bearer || access == Access::setup_token || access == Access::run_token ||
         access == Access::upload_token;
}

struct Route {
  std::string_view method;
  std::string_view path;  // "/v1/runs/{run_id}"
  std::string_view operation;
  Access access;
  void (*handle)(const Asked& asked);
  std::size_t body_bytes_max = 0;  // where that is more than usual
};

inline constexpr std::size_t path_params_max = 3;
using PathParams = std::array<std::string_view, path_params_max>;

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;  // null: none for this method
  bool known_path = false;       // there is one for another method
  PathParams params;             // views into the path
};
// HEAD matches what GET does, except where it would spend a token.
Match match(std::string_view method, std::string_view path);

// "GET, HEAD, POST, OPTIONS": what may be done with that path. Empty for an unknown one.
std::string allowed_methods(std::string_view path);

}  // namespace sluice::api
