// The workspace's API as boxes reach it: under a name that is nobody else's, with a bearer that egress alone has. A box
// names paths below its own workspace and cannot leave it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "egress/destination.h"

namespace sluice::egress {

// Where a request is sent instead of where it was addressed to.
struct Forwarding {
  Destination to;
  std::string base_path;      // before the path that was named
  std::string authorization;  // instead of what was sent
};

// "http://127.0.0.1:8080/api/workspaces/wsp_…". `invalid` when it is no such URL.
Result<Forwarding> forwarding_to(std::string_view base_url, std::string_view token);

// What somebody on the way could resolve to a path outside of the workspace is refused.
std::optional<Refusal> check_workspace_path(std::string_view path);

}  // namespace sluice::egress
