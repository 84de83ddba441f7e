#include "inference/model_failure.h"

#include "base/bytes.h"
#include "inference/model_call.h"

namespace sluice::inference {

using model::Slug;
using models::FailureClass;

namespace {

std::string refused_key(const Route& route) {
  if (!route.key_alias.empty()) return " does not accept the key \"" + route.key_alias + "\"";
  if (route.endpoint.api_key.empty() && !route.key_withheld) {
    return " wants a key, and the server has none for it: set providers." + route.provider +
           ".api_key_env to the name of the environment variable that holds it";
  }
  std::string words = " does not accept the server's key";
  if (!route.key_source.empty()) words += " (" + route.key_source + ")";
  if (route.key_withheld) words += ", which is not sent to the base_url that the agent names";
  return words;
}

}  // namespace

std::string_view readable(std::string_view words) { return is_utf8(words) ? words : "(not readable as text)"; }

ModelFailure model_failure_of(const Route& route, const models::Failure& failure) {
  const std::string who = "The model provider \"" + route.provider + "\"";
  const std::string said = ": " + std::string(readable(failure.what));
  const bool may_retry = models::may_retry(failure.failure_class);
  const auto name = name_of(failure.failure_class);
  switch (failure.failure_class) {
    case FailureClass::unauthorized: return {name, Slug::agent_misconfigured, who + refused_key(route) + said};
    case FailureClass::rate_limited:
      return {name, Slug::model_error, who + " limits the rate of requests" + said, may_retry, failure.retry_after_ms};
    case FailureClass::overloaded:
      return {name, Slug::model_error, who + " is overloaded" + said, may_retry, failure.retry_after_ms};
    case FailureClass::server_error:
      return {name, Slug::model_error, who + " failed" + said, may_retry, failure.retry_after_ms};
    case FailureClass::cut: return {name, Slug::model_error, who + " broke off its answer" + said, may_retry};
    case FailureClass::rejected: return {name, Slug::model_error, who + " refused" + said};
    case FailureClass::garbled: break;
  }
  return {name, Slug::model_error, who + " answered what cannot be understood" + said};
}

ModelFailure model_failure_of(const Route& route, net::CallFailure failure, std::string_view what) {
  const std::string who = "The model provider \"" + route.provider + "\" ";
  const std::string said = ": " + std::string(readable(what));
  const auto name = name_of(failure);
  switch (failure) {
    // Not asked again: it has cost minutes already.
    case net::CallFailure::timed_out: return {name, Slug::model_timeout, who + "did not answer in time" + said};
    case net::CallFailure::refused: return {name, Slug::agent_misconfigured, who + "cannot be asked" + said};
    case net::CallFailure::unreachable:
    case net::CallFailure::cut: break;
  }
  return {name, Slug::model_error, who + "cannot be reached" + said, true};
}

}  // namespace sluice::inference
