// How many objects a tenant may have of each kind that nothing else bounds: a key that was stolen, or a sandbox that
// may write, must not fill the server's disk with them.
#pragma once

#include <cstdint>

namespace sluice::limits {

inline constexpr int64_t agents_per_tenant_max = 10'000;
inline constexpr int64_t environments_per_tenant_max = 1'000;
inline constexpr int64_t repositories_per_tenant_max = 1'000;
inline constexpr int64_t workflows_per_tenant_max = 1'000;
inline constexpr int64_t skills_per_tenant_max = 500;  // of 8 MiB each

}  // namespace sluice::limits
