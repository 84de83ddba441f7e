#include "models/failure.h"

#include <charconv>
#include <cmath>

#include "base/bytes.h"

namespace sluice::models {
namespace {

constexpr std::size_t what_bytes_max = 500;         // an error page is not a sentence
constexpr double retry_after_seconds_max = 86'400;  // a provider that says "in a year"

std::string cut_to_sane_length(std::string_view what) {
  // An HTML page from a proxy may be in any encoding; what goes on must be UTF-8.
  if (!is_utf8(what)) return "an answer that is not UTF-8";
  if (what.size() <= what_bytes_max) return std::string(what);
  std::size_t length = what_bytes_max;
  while ((static_cast<unsigned char>(what[length]) & 0xc0) == 0x80) --length;
  return std::string(what.substr(0, length)) + "…";
}

// Seconds, possibly with a fraction. A date needs a clock, and there is none here.
std::optional<int64_t> milliseconds_of(std::string_view retry_after) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), seconds);
  if (error != std::errc() || end != retry_after.data() + retry_after.size()) return std::nullopt;
  if (!std::isfinite(seconds) || seconds < 0) return std::nullopt;
  return std::llround(std::min(seconds, retry_after_seconds_max) * 1000);
}

}  // namespace

FailureClass class_of_status(int status) {
  if (status == 429) return FailureClass::rate_limited;
  if (status == 503 || status == 529) return FailureClass::overloaded;
  if (status == 401 || status == 403) return FailureClass::unauthorized;
  if (status >= 500 && status <= 599) return FailureClass::server_error;
  if (status >= 400 && status <= 499) return FailureClass::rejected;
  return FailureClass::garbled;  // a redirect, or a number that is no status
}

ModelEvent failure_event(FailureClass failure_class, std::string_view what) {
  ModelEvent event;
  event.kind = ModelEvent::Kind::failure;
  event.failure = {failure_class, cut_to_sane_length(what), std::nullopt};
  return event;
}

Failure status_failure(int status, std::optional<std::string_view> retry_after, std::string_view words) {
  Failure failure;
  failure.failure_class = class_of_status(status);
  failure.what = "status " + std::to_string(status);
  if (!words.empty()) failure.what += ": " + cut_to_sane_length(words);
  if (retry_after) failure.retry_after_ms = milliseconds_of(*retry_after);
  return failure;
}

}  // namespace sluice::models
