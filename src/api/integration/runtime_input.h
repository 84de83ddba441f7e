// Where a conversation's runs are carried out (I-21), as a caller says it.
#pragma once

#include "api/fields.h"

namespace sluice::api::integration {

// `runtime`: {"agent_type"?, "mode"?, "sticky_ttl_seconds"?}. What is left out is as in `before`; null is the default.
// Empty when there is none.
std::optional<model::Runtime> read_runtime(const Fields& fields, const model::TenantLimits& limits,
                                           const model::Runtime& before);

}  // namespace sluice::api::integration
