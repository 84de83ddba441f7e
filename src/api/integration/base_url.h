// The address of a model provider, as an agent names it.
#pragma once

#include <string_view>

namespace sluice::api::integration {

// What is wrong with it, in words; empty when nothing is. Paths are put behind it and a key is sent
// to it, so it must be plain: scheme, host, port, path.
std::string_view fault_of_base_url(std::string_view url);

}  // namespace sluice::api::integration
