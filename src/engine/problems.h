// What went wrong, as the engine answers it.
#pragma once

#include <string>

#include "base/result.h"
#include "model/model.h"

namespace sluice::engine {

model::Problem problem_of(model::Slug slug, std::string detail);
model::Problem unavailable(std::string detail);
// Nothing was `done` ("created"), because a name that the caller gives is not free.
model::Problem name_taken(const Error& error, std::string_view done);
model::Problem too_many_secrets(const Error& error);
// `what` was to be written.
model::Problem problem_of_store(const Error& error, std::string_view what = "message");

// Nothing is wrong with what was asked for: the store could not answer now.
inline bool may_pass(const Error& why) {
  return why.kind == ErrorKind::unavailable || why.kind == ErrorKind::overloaded;
}

}  // namespace sluice::engine
