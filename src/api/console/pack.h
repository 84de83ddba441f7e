// The console's pages, as they were packed into this program.
#pragma once

#include <string_view>

namespace sluice::api::console {

// For api/assets.h; empty when the program was built without a console.
std::string_view built_in_pack();

}  // namespace sluice::api::console
