// Which URLs an agent may have this server call.
#pragma once

#include "net/net.h"

namespace sluice::runner {

using net::is_allowed;

}  // namespace sluice::runner
