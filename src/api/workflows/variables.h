// Values of a workflow's own variables are often keys, and a sandbox may read its workspace's workflows. Sandboxes
// therefore get `hidden_value` in place of each value, and what they send back leaves the values as they are.
#pragma once

#include <string>
#include <string_view>

#include "api/fields.h"
#include "base/json.h"

namespace sluice::api::workflows {

inline constexpr std::string_view hidden_value = "***";

// The definition, a checked one, with `hidden_value` for each value of its `environment`.
std::string hide_variables(const std::string& definition);

// The definition that a sandbox sent, with the values of `before` for the variables that it sent hidden or left out. A
// hidden value of a variable that `before` does not have is refused. Nothing else is checked here.
std::string keep_variables(json::Value sent, const std::string& before, Findings& findings);

}  // namespace sluice::api::workflows
