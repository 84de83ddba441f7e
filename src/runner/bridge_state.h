// Who answers what on a bridge.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runner/bridge.h"

namespace sluice::runner {

struct Bridge::State {
  std::map<std::string, net::Handler, std::less<>> handlers;  // by prefix
};

}  // namespace sluice::runner
