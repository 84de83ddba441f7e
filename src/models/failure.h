// What providers' errors mean, in every dialect alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "models/models.h"

namespace sluice::models {

FailureClass class_of_status(int status);

ModelEvent failure_event(FailureClass failure_class, std::string_view what);

// The Failure of an answer with `status`; `words` are the provider's, empty where it had none.
Failure status_failure(int status, std::optional<std::string_view> retry_after, std::string_view words);

// The same of an answer with a body, in whichever shape the provider has for it.
Failure body_failure(int status, std::optional<std::string_view> retry_after, std::string_view body);

struct ProviderError {
  std::optional<FailureClass> failure_class;  // as its type or code says; empty: it does not say
  std::string what;
};

// `error` is what stands behind "error": an object with some of type, code and message, or a string.
ProviderError read_error(json::Value error);

}  // namespace sluice::models
