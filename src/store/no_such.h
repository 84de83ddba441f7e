#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::store {

inline Error no_such(std::string_view what) { return {ErrorKind::not_found, "no such " + std::string(what)}; }

}  // namespace sluice::store
