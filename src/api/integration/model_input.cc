#include "api/integration/model_input.h"

#include <algorithm>

#include "api/integration/base_url.h"
#include "base/bytes.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view model_names[] = {"provider", "name", "base_url", "key_alias", "endpoint"};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2048};

}  // namespace

void check_provider(const Asked& asked, const Fields& model, const std::string& provider) {
  const auto& names = asked->surface().options.provider_names;
  if (std::ranges::find(names, provider) != names.end()) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string message = "names no provider of this server";
  if (const auto meant = nearest(provider, known)) {
    message += "; did you mean " + std::string(*meant) + "?";
  } else {
    message += ", which has";
    for (const auto& name : names) message += (name == names.front() ? " " : ", ") + name;
  }
  model.refuse("provider", std::move(message));
}

std::optional<std::string> read_key_alias(const Fields& model) {
  auto alias = model.text("key_alias", name_rule);
  if (alias && !model::is_alias(*alias)) {
    model.refuse("key_alias", "must be the alias of a secret: ^[A-Z][A-Z0-9_]{0,63}$");
  }
  return alias;
}

std::optional<std::string> read_base_url(const Fields& model) {
  auto url = model.text("base_url", url_rule);
  if (!url) return url;
  if (const auto fault = fault_of_base_url(*url); !fault.empty()) model.refuse("base_url", std::string(fault));
  return url;
}

std::optional<ModelInput> read_model(const Asked& asked, const Fields& fields, Null null) {
  const auto inner = fields.object("model", model_names, null);
  if (!inner) return std::nullopt;
  ModelInput out;
  inner->require("name");
  out.choice.name = inner->text("name", name_rule).value_or("");
  out.endpoint = inner->text("endpoint", name_rule);
  if (out.endpoint) {
    // What is read from an agent can be sent back: the words that came from the endpoint are taken from it again.
    return out;
  }
  inner->require("provider");
  out.choice.provider = inner->text("provider", name_rule).value_or("");
  if (!out.choice.provider.empty()) check_provider(asked, *inner, out.choice.provider);
  out.choice.key_alias = read_key_alias(*inner);
  out.choice.base_url = read_base_url(*inner);
  return out;
}

void resolve_model(const Asked& asked, std::optional<ModelInput> input,
                   Callback<void(std::optional<model::ModelChoice>)> then) {
  if (!input) return then(std::nullopt);
  if (!input->endpoint) return then(std::move(input->choice));
  auto name = *input->endpoint;
  asked->store().endpoints().find(
      asked->tenant().id, std::move(name),
      [asked, choice = std::move(input->choice),
       then = std::move(then)](const Result<model::ModelEndpoint>& found) mutable {
        if (!found && found.error().kind == ErrorKind::not_found) {
          return asked->invalid("/model/endpoint", "names no model endpoint of this workspace");
        }
        if (!found) return asked->fail(found.error());
        const auto& endpoint = found.value();
        if (!endpoint.models.empty() && std::ranges::find(endpoint.models, choice.name) == endpoint.models.end()) {
          return asked->invalid("/model/name", "is none of the models of the endpoint " + endpoint.name);
        }
        then(model::ModelChoice{endpoint.provider, choice.name, endpoint.base_url, endpoint.key_alias, endpoint.id});
      });
}

}  // namespace sluice::api::integration
