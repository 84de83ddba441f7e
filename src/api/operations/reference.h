// The API reference: a page made of openapi/openapi.yaml when the server was built (openapi/reference).
#pragma once

#include <string_view>

namespace sluice::api::operations {

// For api/assets.h: "index.html", and "policy", the Content-Security-Policy under which it works.
std::string_view reference_pack();

// The file that it is made of.
std::string_view openapi_text();

}  // namespace sluice::api::operations
