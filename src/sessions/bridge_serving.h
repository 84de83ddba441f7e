// How the runner comes by a server of HTTP for a sandbox's listener.
#pragma once

#include <functional>
#include <memory>

#include "base/fd.h"
#include "base/result.h"
#include "net/net.h"

namespace sluice::sessions {

// Answers HTTP on a listening socket; given by the owner of a reactor.
using ServeBridge = std::function<Result<std::unique_ptr<net::Server>>(OwnedFd listener, net::Handler handler)>;

}  // namespace sluice::sessions
