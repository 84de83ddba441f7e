// Bounds on webhook notices.
#pragma once

namespace sluice::limits {

// Of one tenant at once, so that a tenant whose host is slow does not make the others wait.
inline constexpr int due_notices_of_tenant_max = 2;

}  // namespace sluice::limits
