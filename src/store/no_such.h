// What every store says of what it does not have.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::store {

inline Error no_such(std::string_view what) { return {ErrorKind::not_found, "no such " + std::string(what)}; }

}  // namespace sluice::store
