// The model in a request: provider and name, or a model endpoint of the workspace and a name.
#pragma once

#include <optional>
#include <string>

#include "api/request/fields.h"
#include "api/request/request_context.h"

namespace sluice::api::integration {

struct ModelInput {
  model::ModelChoice choice;
  std::optional<std::string> endpoint;  // id or name; the endpoint sets provider, base_url and key_alias
};

// The member `model`.
std::optional<ModelInput> read_model(const RequestPtr& request, const Fields& fields, Null null);
void check_provider(const RequestPtr& request, const Fields& model, const std::string& provider);
std::optional<std::string> read_key_alias(const Fields& model);
std::optional<std::string> read_base_url(const Fields& model);

// Calls `then` with the choice, or answers that the endpoint or the model does not exist.
void resolve_model(const RequestPtr& request, std::optional<ModelInput> input,
                   Callback<void(std::optional<model::ModelChoice>)> then);

}  // namespace sluice::api::integration
