#include "models/failure.h"

#include <charconv>
#include <cmath>

#include "base/bytes.h"
#include "base/utf8.h"

namespace sluice::models {
namespace {

constexpr std::size_t what_bytes_max = 500;         // an error page is not a sentence
constexpr double retry_after_seconds_max = 86'400;  // a provider that says "in a year"

struct Word {
  std::string_view word;
  FailureClass failure_class;
};

// What providers write in an error's "type" or "code".
constexpr Word words_of_failure[] = {
    {"overloaded_error", FailureClass::overloaded},
    {"overloaded", FailureClass::overloaded},
    {"slow_down", FailureClass::overloaded},
    {"service_unavailable", FailureClass::overloaded},
    {"rate_limit_error", FailureClass::rate_limited},
    {"rate_limit_exceeded", FailureClass::rate_limited},
    {"api_error", FailureClass::server_error},
    {"server_error", FailureClass::server_error},
    {"timeout_error", FailureClass::server_error},
    {"internal_error", FailureClass::server_error},
    {"internal_server_error", FailureClass::server_error},
    {"InternalServerError", FailureClass::server_error},
    {"authentication_error", FailureClass::unauthorized},
    {"permission_error", FailureClass::unauthorized},
    {"invalid_api_key", FailureClass::unauthorized},
    {"billing_error", FailureClass::rejected},
    {"insufficient_quota", FailureClass::rejected},  // comes with 429, but waiting brings no money
    {"invalid_request_error", FailureClass::rejected},
    {"invalid_prompt", FailureClass::rejected},
    {"not_found_error", FailureClass::rejected},
    {"request_too_large", FailureClass::rejected},
    {"context_length_exceeded", FailureClass::rejected},
    {"exceed_context_size_error", FailureClass::rejected},
    {"content_filter", FailureClass::rejected},
    {"BadRequestError", FailureClass::rejected},
};

std::optional<FailureClass> class_of_word(json::Value word) {
  if (const auto status = word.integer(); status && *status >= 400 && *status <= 599) {
    return class_of_status(static_cast<int>(*status));
  }
  for (const auto& known : words_of_failure) {
    if (word.string() == known.word) return known.failure_class;
  }
  return std::nullopt;
}

// Some providers repeat the key they refused.
std::string without_keys(std::string_view text) {
  static constexpr std::string_view key_begins = "sk-";
  static constexpr std::string_view key_chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.*";
  std::string out;
  for (auto key = text.find(key_begins); key != std::string_view::npos; key = text.find(key_begins)) {
    out.append(text.substr(0, key)).append("sk-…");
    text.remove_prefix(std::min(text.find_first_not_of(key_chars, key), text.size()));
  }
  return out.append(text);
}

std::string sane(std::string_view what) {
  // A proxy's error page may be in any encoding; what goes on must be UTF-8.
  if (!is_utf8(what)) return "an answer that is not UTF-8";
  auto text = without_keys(what);
  if (text.size() <= what_bytes_max) return text;
  text.resize(utf8_prefix_size(text, what_bytes_max));
  return text + "…";
}

// Seconds, possibly with a fraction. A date needs a clock, and there is none here.
std::optional<int64_t> milliseconds_of(std::string_view retry_after) {
  double seconds = 0;
  const auto* end = retry_after.data() + retry_after.size();
  const auto parsed = std::from_chars(retry_after.data(), end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(seconds) || seconds < 0) return std::nullopt;
  return std::llround(std::min(seconds, retry_after_seconds_max) * 1000);
}

// The error in a body: {"error": …}, [{"error": …}], {"detail": …} or the object itself.
json::Value error_in(json::Value body) {
  if (body.kind() == json::Kind::array) {
    std::optional<json::Value> first;
    body.each_element([&](json::Value element) { first = first.value_or(element); });
    body = first.value_or(json::Value());
  }
  for (const std::string_view name : {"error", "detail"}) {
    if (const auto found = body.find(name); found && !found->is_null()) return *found;
  }
  return body;
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
  return {.kind = ModelEvent::Kind::failure, .failure = {failure_class, sane(what), std::nullopt}};
}

Failure status_failure(int status, std::optional<std::string_view> retry_after, std::string_view words) {
  Failure failure;
  failure.failure_class = class_of_status(status);
  failure.what = "status " + std::to_string(status);
  if (!words.empty()) failure.what += ": " + sane(words);
  if (retry_after) failure.retry_after_ms = milliseconds_of(*retry_after);
  return failure;
}

Failure body_failure(int status, std::optional<std::string_view> retry_after, std::string_view body) {
  const auto document = json::Document::parse(body);
  if (!document) return status_failure(status, retry_after, body);
  const auto error = read_error(error_in(document.value().root()));
  auto failure = status_failure(status, retry_after, error.what);
  // The status decides, but for a limit that no waiting lifts.
  if (status == 429 && error.failure_class == FailureClass::rejected) failure.failure_class = FailureClass::rejected;
  return failure;
}

ProviderError read_error(json::Value error) {
  if (const auto words = error.string()) return {std::nullopt, std::string(*words)};
  ProviderError out;
  for (const std::string_view name : {"code", "type"}) {
    if (!out.failure_class) out.failure_class = class_of_word(error.find(name).value_or(json::Value()));
  }
  if (const auto message = error.find("message")) {
    out.what = message->string().value_or(std::string_view());
  }
  if (out.what.empty()) out.what = error.is_null() ? "the provider gave no reason" : error.to_text();
  return out;
}

}  // namespace sluice::models
