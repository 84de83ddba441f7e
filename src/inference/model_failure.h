// Why a question to a model got no answer, and what that means for the run if it is not asked again. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "inference/providers.h"
#include "model/model.h"
#include "models/models.h"
#include "net/net.h"

namespace sluice::inference {

struct ModelFailure {
  std::string_view failure_class;
  model::Slug slug;
  std::string what;
  bool may_retry = false;
  std::optional<int64_t> retry_after_ms;
};

ModelFailure model_failure_of(const Route& route, const models::Failure& failure);
ModelFailure model_failure_of(const Route& route, net::CallFailure failure, std::string_view what);

// Words from outside, for a JSON string and for a person.
std::string_view readable(std::string_view words);

}  // namespace sluice::inference
