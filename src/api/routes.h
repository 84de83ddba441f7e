// The table of all endpoints of the server. A path that is not in it is answered with 404. One test walks the table,
// another compares it with openapi.yaml. Pure; used by api.cc and by tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/request/route.h"

namespace sluice::api {

std::span<const Route> routes();

// HEAD matches the route of GET, except where it would spend a token.
Match match(std::string_view method, std::string_view path);

// The methods of a path, for the header Allow: "GET, HEAD, POST, OPTIONS". Empty for an unknown path.
std::string allowed_methods(std::string_view path);

}  // namespace sluice::api
