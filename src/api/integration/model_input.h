// Which model, as a caller names it: provider and name, or an endpoint of the workspace's and a name.
#pragma once

#include <optional>
#include <string>

#include "api/request/fields.h"
#include "api/request/request_context.h"

namespace sluice::api::integration {

struct ModelInput {
  model::ModelChoice choice;
  std::optional<std::string> endpoint;  // its id or name; provider, base_url and key_alias are to be taken from it
};

// The member `model`.
std::optional<ModelInput> read_model(const RequestPtr& request, const Fields& fields, Null null);
void check_provider(const RequestPtr& request, const Fields& model, const std::string& provider);
std::optional<std::string> read_key_alias(const Fields& model);
std::optional<std::string> read_base_url(const Fields& model);

// Calls `then` with the choice, or tells the caller that there is no such endpoint, or no such model at it.
void resolve_model(const RequestPtr& request, std::optional<ModelInput> input,
                   Callback<void(std::optional<model::ModelChoice>)> then);

}  // namespace sluice::api::integration
