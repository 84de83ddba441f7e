// What an error status means, in every dialect alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/models.h"

namespace sluice::models {

FailureClass class_of_status(int status);

// `what` cut to a sane length, at the end of a code point.
ModelEvent failure_event(FailureClass failure_class, std::string_view what);

// The Failure of an answer with `status`; `words` are the provider's, empty where it had none.
Failure status_failure(int status, std::optional<std::string_view> retry_after, std::string_view words);

}  // namespace sluice::models
