// What follows "Basic " in an Authorization header (RFC 7617).
#pragma once

#include <string>
#include <string_view>

namespace sluice::runs {

std::string basic_credentials(std::string_view user, std::string_view password);

}  // namespace sluice::runs
