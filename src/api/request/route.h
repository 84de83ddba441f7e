// One endpoint: its path, who may call it and the handler that answers it. The table of all endpoints is
// api/routes.cc; what is here is all that a handler needs to know of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::api {

class RequestContext;

// A request that is being answered. The callbacks that it waits for share it; the last one frees it.
using RequestPtr = std::shared_ptr<RequestContext>;

// Who may call an endpoint.
enum class Access : uint8_t {
  open,               // everyone
  service,            // a service key
  service_write,      // a service key of a tenant that is not suspended
  admin,              // the admin key
  metrics,            // the admin key, or everyone if the configuration says so
  workspace,          // a service key of the workspace in the path, or a sandbox's bearer
  workspace_write,    // a service key of that workspace, of a tenant that is not suspended
  workspace_sandbox,  // as workspace_write, or a sandbox's bearer: what an agent may read and write
  bearer,             // the bearer of the execution in the path, which the handler checks
  setup_token,        // a one-time token of the execution in the path, which the handler spends
  run_token,
  upload_token,
};

// Callbacks come from runners on other machines: they need no key, and the handler checks their token.
constexpr bool is_callback(Access access) {
  return access == Access::bearer || access == Access::setup_token || access == Access::run_token ||
         access == Access::upload_token;
}

struct Route {
  std::string_view method;
  std::string_view path;  // "/v1/runs/{run_id}"
  std::string_view operation;
  Access access;
  void (*handle)(const RequestPtr& request);
  std::size_t body_bytes_max = 0;  // set if the endpoint takes larger bodies than others
};

inline constexpr std::size_t path_params_max = 3;
using PathParams = std::array<std::string_view, path_params_max>;

struct Match {
  const Route* route = nullptr;  // null: no route has this path and this method
  bool known_path = false;       // a route has this path, perhaps with another method
  PathParams params;             // views into the path
};

}  // namespace sluice::api
