// The way out of one box: accepts what comes through its listener, and keeps the visits.
#pragma once

#include <list>
#include <memory>

#include "base/fd.h"
#include "egress/egress.h"
#include "egress/house.h"
#include "egress/premises.h"
#include "egress/visit.h"

namespace sluice::egress {

std::unique_ptr<Outlet> make_outlet(std::shared_ptr<House> house, OwnedFd listener_fd);

}  // namespace sluice::egress
