// The problems that workflow runs are refused with.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "model/model.h"

namespace sluice::flow {

inline model::Problem problem_of(model::Slug slug, std::string detail) {
  return {.slug = slug, .detail = std::move(detail)};
}

inline model::Problem unavailable(std::string detail) {
  auto problem = problem_of(model::Slug::unavailable, std::move(detail));
  problem.retry_after_seconds = 1;
  return problem;
}

inline model::Problem problem_of_store(const Error& error) {
  if (error.kind == ErrorKind::not_found) return problem_of(model::Slug::not_found, error.what);
  if (error.kind == ErrorKind::overloaded) return unavailable("The store cannot write right now; nothing was created.");
  if (error.kind == ErrorKind::unavailable) return unavailable("The store did not say whether the run was kept.");
  return problem_of(model::Slug::internal, "The store refused the workflow run.");
}

}  // namespace sluice::flow
