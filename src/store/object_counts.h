// Refuses one more object of a tenant that has as many as it may have.
#pragma once

#include <optional>
#include <string>

#include "base/tenant_limits.h"
#include "store/sql_rows.h"

namespace sluice::store {

// `table` is also what the objects are called: "agents".
inline std::optional<Error> refusal_of_count(Connection& db, const std::string& table, model::TenantId tenant,
                                             int64_t count_max) {
  const auto count = find_number(db, "SELECT count(*) FROM " + table + " WHERE tenant_id = ?", tenant);
  if (count.value_or(0) < count_max) return std::nullopt;
  return Error{ErrorKind::invalid, "would be one too many: a tenant has at most " + std::to_string(count_max) + " " +
                                       table + "; delete some that are not needed any more"};
}

}  // namespace sluice::store
