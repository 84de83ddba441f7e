// How requests to http://workspace.sluice reach the API of the run's workspace: with a bearer that the sandbox does not
// have, and only at paths below this workspace. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "egress/destination.h"

namespace sluice::egress {

// Where a request is sent instead of the host that it names.
struct Forwarding {
  Destination to;
  std::string base_path;      // prepended to the path of the request
  std::string authorization;  // replaces the header that was sent
};

// "http://127.0.0.1:8080/api/workspaces/wsp_…". `invalid` if it is no such URL.
Result<Forwarding> forwarding_to(std::string_view base_url, std::string_view token);

// Refuses paths that a server or proxy could resolve to one outside of the workspace.
std::optional<Refusal> check_workspace_path(std::string_view path);

}  // namespace sluice::egress
