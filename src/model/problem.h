// What went wrong, for a person and for a program (RFC 9457). The registry below is complete: a
// problem that is not in it cannot be told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace sluice::model {

enum class Slug : uint8_t {
  malformed_request,           // 400
  unauthenticated,             // 401
  token_invalid,               // 401: a one-time token, or the bearer of an execution
  insufficient_scope,          // 403
  tenant_suspended,            // 403
  approval_signature_invalid,  // 403
  csrf,                        // 403: a session's request that our own page did not make
  not_found,                   // 404
  method_not_allowed,          // 405
  request_timeout,             // 408: the request itself took too long to come
  conversation_busy,           // 409
  conversation_archived,       // 409
  name_conflict,               // 409
  resource_in_use,             // 409
  run_finished,                // 409
  approval_expired,            // 409: resolved already, or its time is over; in-band: nobody decided in time
  content_too_large,           // 413
  uri_too_long,                // 414
  unsupported_media_type,      // 415
  expectation_failed,          // 417
  validation_error,            // 422
  idempotency_key_conflict,    // 422
  headers_too_large,           // 431
  rate_limited,                // 429: too many wrong tries to log in
  capacity_exhausted,          // 429
  internal,                    // 500
  not_implemented,             // 501: a Transfer-Encoding other than chunked
  agent_misconfigured,         // 500 in-band: the agent's model cannot be called as configured
  model_error,                 // 502 in-band: the provider refused or failed for good
  model_stream_cut,            // 502 in-band: the provider's answer broke off after part of it was told
  model_timeout,               // 504 in-band
  answer_too_large,            // 502 in-band
  run_interrupted,             // 500 in-band: the server restarted at a point from which it cannot go on safely
  approval_denied,             // 403 in-band: a human said no
  run_cancelled,               // 409 in-band: somebody cancelled the run
  runtime_exceeded,            // 504 in-band
  sandbox_failed,              // 500 in-band: no box, or it was lost
  repository_failed,           // 502 in-band: the repository could not be fetched
  skill_failed,                // 500 in-band: a skill's bundle could not be had or used
  setup_failed,                // 500 in-band: the environment's script failed
  agent_failed,                // 502 in-band: the agent program broke off, fell silent or told nonsense
  writeback_failed,            // 502 in-band: what the run made could not be handed back or kept
  runner_unavailable,          // 503 in-band: no runner took the run
  runner_lost,                 // 502 in-band: the runner went silent, broke off or told nonsense
  unavailable,                 // 503: draining, or the store is not writable
  http_version_not_supported,  // 505
};

struct SlugEntry {
  Slug slug;
  std::string_view name;  // "conversation-busy"
  int status;
  std::string_view title;
  std::string_view remedy;  // what the caller should do; shown on the problem's page
};

std::span<const SlugEntry> problem_registry();
const SlugEntry& entry_of(Slug slug);

struct FieldError {
  std::string pointer;  // JSON pointer into the body, or the name of a header or query parameter
  std::string message;
};

// What is wrong with one request: the first `limits::field_errors_max` faults, and whether there are more.
class FieldErrors {
 public:
  void push_back(FieldError error);
  void append(FieldErrors others);
  // Further faults are not kept, so the search for them can end.
  bool is_full() const;
  bool has_more() const { return has_more_; }
  bool empty() const { return kept_.empty(); }
  std::size_t size() const { return kept_.size(); }
  const FieldError& front() const { return kept_.front(); }
  const FieldError& operator[](std::size_t index) const { return kept_[index]; }
  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }

 private:
  std::vector<FieldError> kept_;
  bool has_more_ = false;
};

// The JSON pointer `at` with one more step, escaped. It is cut where it grows too long.
std::string pointer_to(std::string at, std::string_view step);

struct Problem {
  Slug slug = Slug::internal;
  std::string detail;
  std::vector<FieldError> errors;
  std::optional<std::string> conflicting_resource_id;
  std::vector<std::pair<std::string_view, std::string>> more;  // further members of this one, all text
  std::optional<int64_t> retry_after_seconds;                  // a header, not a member
};

// Where the problem is told. `type` is {base_url}/problems/{name}.
struct ProblemContext {
  std::string_view base_url;
  std::string_view instance;    // the path that was asked for; empty: left out
  std::string_view request_id;  // empty: left out
};

void append_json(std::string& out, const Problem& problem, const ProblemContext& context);

// A problem with all of `errors`; its detail says how many there are.
Problem validation_error(const FieldErrors& errors);

}  // namespace sluice::model
