#include "engine/problems.h"

namespace sluice::engine {

model::Problem problem_of(model::Slug slug, std::string detail) {
  model::Problem problem;
  problem.slug = slug;
  problem.detail = std::move(detail);
  return problem;
}

model::Problem unavailable(std::string detail) {
  auto problem = problem_of(model::Slug::unavailable, std::move(detail));
  problem.retry_after_seconds = 1;
  return problem;
}

model::Problem name_taken(const Error& error, std::string_view done) {
  return problem_of(model::Slug::name_conflict, "Nothing was " + std::string(done) + ": " + error.what + ".");
}

model::Problem too_many_secrets(const Error& error) {
  auto problem = problem_of(model::Slug::validation_error, "Nothing was created.");
  problem.errors.push_back({"/secrets", error.what});
  return problem;
}

model::Problem problem_of_store(const Error& error, std::string_view what) {
  const std::string it(what);
  switch (error.kind) {
    case ErrorKind::not_found: return problem_of(model::Slug::not_found, error.what);
    case ErrorKind::overloaded:
      // Where and why is in the log: the database's words name its machine and its files.
      return unavailable("The store cannot write right now; nothing was created.");
    case ErrorKind::unavailable:
      return unavailable("The store did not say whether the " + it + " was kept. Retry with the same Idempotency-Key.");
    case ErrorKind::invalid:
    case ErrorKind::denied:
    case ErrorKind::conflict:
    case ErrorKind::corrupt: break;
  }
  return problem_of(model::Slug::internal, "The store refused the " + it + ".");
}

}  // namespace sluice::engine
