#include "inference/providers.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "runs/runs.h"

namespace sluice::inference {
namespace {

constexpr std::string_view offline = "offline";
// A dialect's own name is a provider too, at the dialect's own URL.
constexpr std::array<std::string_view, 4> built_in = {offline, "anthropic", "openai-responses", "openai-chat"};

std::string in_quotes(std::string_view name) { return "\"" + std::string(name) + "\""; }

std::string label_of(std::string_view provider) { return "provider=" + in_quotes(provider); }

// A tenant who edits an agent may name any URL; the operator's key goes only where the operator said.
Result<Unit> add_own_key(Route& route, const Provider& provider, const std::string& own_url,
                         const std::string& default_url) {
  if (route.endpoint.base_url == own_url) {
    route.endpoint.api_key = provider.api_key;
  } else {
    route.key_withheld = !provider.api_key.empty();
  }
  if (provider.api_key.empty() && route.endpoint.base_url == default_url) {
    return Error{ErrorKind::invalid, "The model provider " + in_quotes(route.provider) + " has no API key: set " +
                                         route.key_source +
                                         " in the server's environment, or give the agent's model a key_alias."};
  }
  return Unit{};
}

Result<Unit> add_secret_key(Route& route, const std::string& alias, const vault::Secrets* secrets) {
  const auto* const secret = secrets == nullptr ? nullptr : secrets->find(alias);
  if (secret == nullptr) {
    return Error{ErrorKind::invalid, "The agent's model key " + in_quotes(alias) +
                                         " is not on file: supply a secret of that alias for the agent or its tenant."};
  }
  const auto host = runs::host_of(route.endpoint.base_url);
  if (!runs::may_be_sent(*secret, host)) {
    return Error{ErrorKind::invalid, "The agent's model key " + in_quotes(alias) + " is bound to other hosts than " +
                                         std::string(host) + ", where the agent's model is asked."};
  }
  route.endpoint.api_key = secret->value;
  route.key_alias = alias;
  return Unit{};
}

std::string without_trailing_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string base_url_of(const model::ModelChoice& choice, const std::string& own_url) {
  auto url = without_trailing_slash(choice.base_url.value_or(own_url));
  return url.empty() ? own_url : url;
}

}  // namespace

std::string model_base_url(const Options& options, const model::ModelChoice& choice) {
  const auto found = options.providers.find(choice.provider);
  return base_url_of(choice, found == options.providers.end() ? "" : without_trailing_slash(found->second.base_url));
}

ProviderFigures::ProviderFigures(std::string_view provider, world::Metrics& metrics)
    : label_(label_of(provider)),
      metrics_(metrics),
      calls_(metrics.counter("sluice_model_calls_total", "Answers asked of a model, each attempt.", label_)),
      input_tokens_(
          metrics.counter("sluice_model_tokens_total", "Tokens charged by a model.", label_ + R"(,direction="input")")),
      output_tokens_(metrics.counter("sluice_model_tokens_total", "Tokens charged by a model.",
                                     label_ + R"(,direction="output")")) {}

void ProviderFigures::count_failure(std::string_view failure_class) const {
  metrics_
      .counter("sluice_model_call_failures_total", "Answers asked of a model that failed.",
               label_ + ",class=" + in_quotes(failure_class))
      .add();
}

void ProviderFigures::count_tokens(const model::Usage& usage) const {
  input_tokens_.add(static_cast<uint64_t>(std::max<int64_t>(0, usage.input_tokens)));
  output_tokens_.add(static_cast<uint64_t>(std::max<int64_t>(0, usage.output_tokens)));
}

Providers::Providers(const Options& options, world::Metrics& metrics) : agent_base_urls_(options.agent_base_urls) {
  auto configured = options.providers;
  for (const std::string_view name : built_in) {
    configured.try_emplace(std::string(name), Provider{.dialect = std::string(name)});
  }
  for (auto& [name, provider] : configured) {
    provider.base_url = without_trailing_slash(std::move(provider.base_url));
    known_.emplace(name, Known{std::move(provider), ProviderFigures(name, metrics)});
  }
}

bool Providers::is_offline(const model::ModelChoice& choice) const {
  const auto found = known_.find(choice.provider);
  return found != known_.end() && found->second.provider.dialect == offline;
}

Result<Route> Providers::route(const model::ModelChoice& choice, const vault::Secrets* secrets) const {
  const auto found = known_.find(choice.provider);
  if (found == known_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, known] : known_) names.push_back(name);
    std::string what = "The agent's model provider " + in_quotes(choice.provider) + " is not configured on this server";
    if (const auto near = nearest(choice.provider, names)) what += "; did you mean " + in_quotes(*near) + "?";
    if (!what.ends_with('?')) what += '.';
    return Error{ErrorKind::invalid, std::move(what)};
  }
  const auto& [provider, figures] = found->second;
  Route route{.provider = choice.provider, .key_source = provider.key_source, .figures = &figures};
  if (provider.dialect == offline) return route;

  route.dialect = models::find_dialect(provider.dialect);
  if (route.dialect == nullptr) {
    return Error{ErrorKind::invalid, "The model provider " + in_quotes(choice.provider) +
                                         " is configured with the unknown dialect " + in_quotes(provider.dialect) +
                                         "."};
  }
  if (route.key_source.empty()) route.key_source = route.dialect->key_variable();
  const std::string default_url(route.dialect->default_base_url());
  const std::string& own_url = provider.base_url.empty() ? default_url : provider.base_url;
  route.endpoint.base_url = base_url_of(choice, own_url);
  const auto reach = route.endpoint.base_url == own_url ? net::Reach::anywhere
                                                        : net::reach_of(route.endpoint.base_url, agent_base_urls_);
  route.public_addresses_only = reach == net::Reach::public_addresses;
  if (reach == net::Reach::nowhere) {
    return Error{ErrorKind::invalid, "The agent's base_url " + in_quotes(route.endpoint.base_url) +
                                         " is not one that this server may call. Its operator can allow it in the "
                                         "configuration: models.agent_base_urls takes the beginnings of such URLs."};
  }
  auto added = choice.key_alias ? add_secret_key(route, *choice.key_alias, secrets)
                                : add_own_key(route, provider, own_url, default_url);
  if (!added) return std::move(added.error());
  return route;
}

}  // namespace sluice::inference
