// A definition that is consistent as a whole: every name exists, no block waits for itself, and what a template
// names is there by the time it is needed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/definition.h"

namespace sluice::flow {

struct Plan {
  Definition definition;
  std::vector<std::size_t> order;                  // of the blocks: each after all that it follows
  std::vector<std::vector<std::size_t>> incoming;  // of each block: numbers of edges

  std::optional<std::size_t> index_of(std::string_view block) const;
};

// Empty when `faults` grew. The pointers in it begin with `at`.
std::optional<Plan> make_plan(json::Value definition, const std::string& at, model::FieldErrors& faults);
// Of a definition that was checked when it was kept.
Result<Plan> plan_of(std::string_view definition);

// The inputs of a run as JSON, with defaults where none was given; empty when `faults` grew.
std::optional<std::string> read_inputs(const Plan& plan, json::Value given, const std::string& at,
                                       model::FieldErrors& faults);

}  // namespace sluice::flow
