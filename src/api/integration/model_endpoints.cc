#include <algorithm>
#include <charconv>
#include <cstdint>

#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/integration/model_input.h"
#include "base/bytes.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view letters_and_digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool only(std::string_view text, std::string_view chars, std::string_view more_chars) {
  return std::ranges::all_of(text, [&](char c) {
    return chars.find(c) != std::string_view::npos || more_chars.find(c) != std::string_view::npos;
  });
}

// A name, an IPv4 address, or an IPv6 address in brackets.
bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    return !host.empty() && only(host, "0123456789abcdefABCDEF", ":.");
  }
  return !host.empty() && only(host, letters_and_digits, "-._");
}

// ":8080", or nothing.
bool is_port(std::string_view text) {
  if (text.empty()) return true;
  if (text.front() != ':') return false;
  text.remove_prefix(1);
  uint16_t port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failed == std::errc{} && end == text.data() + text.size() && port > 0;
}

std::string_view fault_of_base_url(std::string_view url) {
  if (!std::ranges::all_of(url, [](char c) { return c > ' ' && c <= '~' && c != '\\'; })) {
    return "must be visible ASCII characters, without spaces or backslashes";
  }
  if (url.starts_with("https://")) {
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    url.remove_prefix(7);
  } else {
    return "must begin with https:// or http://";
  }
  if (url.find_first_of("?#") != std::string_view::npos) return "must not have a query or a fragment";
  const std::string_view authority = url.substr(0, url.find('/'));
  if (authority.find('@') != std::string_view::npos) return "must not have a user or a password in it";
  const std::size_t bracket = authority.starts_with('[') ? std::min(authority.find(']'), authority.size()) : 0;
  const std::size_t host_size = std::min(authority.find(':', bracket), authority.size());
  if (!is_host(authority.substr(0, host_size))) return "must name a host";
  if (!is_port(authority.substr(host_size))) return "must have a port from 1 to 65535, or none";
  return {};
}

constexpr std::string_view model_names[] = {"provider", "name", "base_url", "key_alias", "endpoint"};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2048};

}  // namespace

void check_provider(const RequestPtr& request, const Fields& model, const std::string& provider) {
  const auto& names = request->services().options.provider_names;
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

std::optional<ModelInput> read_model(const RequestPtr& request, const Fields& fields, Null null) {
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
  if (!out.choice.provider.empty()) check_provider(request, *inner, out.choice.provider);
  out.choice.key_alias = read_key_alias(*inner);
  out.choice.base_url = read_base_url(*inner);
  return out;
}

void resolve_model(const RequestPtr& request, std::optional<ModelInput> input,
                   Callback<void(std::optional<model::ModelChoice>)> then) {
  if (!input) return then(std::nullopt);
  if (!input->endpoint) return then(std::move(input->choice));
  auto name = *input->endpoint;
  store::find_endpoint(
      request->database(), request->tenant().id, std::move(name),
      [request, choice = std::move(input->choice),
       then = std::move(then)](const Result<model::ModelEndpoint>& found) mutable {
        if (!found && found.error().kind == ErrorKind::not_found) {
          return request->invalid("/model/endpoint", "names no model endpoint of this workspace");
        }
        if (!found) return request->fail(found.error());
        const auto& endpoint = found.value();
        if (!endpoint.models.empty() && std::ranges::find(endpoint.models, choice.name) == endpoint.models.end()) {
          return request->invalid("/model/name", "is none of the models of the endpoint " + endpoint.name);
        }
        then(model::ModelChoice{endpoint.provider, choice.name, endpoint.base_url, endpoint.key_alias, endpoint.id});
      });
}

namespace {

constexpr std::string_view endpoint_names[] = {"name", "provider", "base_url", "key_alias", "models"};
constexpr std::size_t models_max = 100;

void with_endpoint(const RequestPtr& request, Callback<void(const model::ModelEndpoint&)> then) {
  const auto name = net::percent_decode(request->path_param(0));
  if (!name) return request->not_found();
  store::find_endpoint(request->database(), request->tenant().id, *name,
                       [request, then = std::move(then)](const Result<model::ModelEndpoint>& found) mutable {
                         if (!found) return request->fail(found.error());
                         then(found.value());
                       });
}

void fail(const RequestPtr& request, const Error& error) {
  if (error.kind != ErrorKind::conflict) return request->fail(error);
  request->problem(model::Slug::name_conflict, "Another model endpoint has this name.");
}

std::optional<std::string> read_name(const Fields& fields) {
  auto name = fields.text("name", name_rule, Null::refused);
  if (name && model::ModelEndpointId::parse(*name)) fields.refuse("name", "must not look like the id of an endpoint");
  return name;
}

std::optional<std::string> read_provider(const RequestPtr& request, const Fields& fields) {
  auto provider = fields.text("provider", name_rule, Null::refused);
  if (provider) check_provider(request, fields, *provider);
  return provider;
}

}  // namespace

void list_model_endpoints(const RequestPtr& request) {
  const auto query = read_page_query<model::ModelEndpointId>(request);
  if (!query) return;
  store::endpoints(
      request->database(), request->tenant().id, *query,
      [request, query](const Result<store::Page<model::ModelEndpoint>>& page) { answer_page(request, *query, page); });
}

void create_model_endpoint(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", endpoint_names, findings);
  fields.require("name");
  fields.require("provider");
  model::ModelEndpoint made;
  made.name = read_name(fields).value_or("");
  made.provider = read_provider(request, fields).value_or("");
  made.base_url = read_base_url(fields);
  made.key_alias = read_key_alias(fields);
  made.models = fields.texts("models", models_max).value_or(std::vector<std::string>{});
  if (refused(request, findings)) return;
  made.id = request->ids().make<model::ModelEndpointId>();
  made.tenant_id = request->tenant().id;
  made.created_at = made.updated_at = request->now();
  store::create_endpoint(request->database(), made, [request, made](const Result<Unit>& kept) {
    if (!kept) return fail(request, kept.error());
    request->created("/v1/model-endpoints/" + made.id.text(), model::to_json(made));
  });
}

void get_model_endpoint(const RequestPtr& request) {
  with_endpoint(request,
                [request](const model::ModelEndpoint& found) { request->answer_json(200, model::to_json(found)); });
}

void update_model_endpoint(const RequestPtr& request) {
  with_endpoint(request, [request](const model::ModelEndpoint& found) {
    const auto body = read_body(request);
    if (!body) return;
    Findings findings;
    const Fields fields(body->root(), "", endpoint_names, findings);
    store::EndpointPatch patch;
    patch.name = read_name(fields);
    patch.provider = read_provider(request, fields);
    if (fields.given("base_url")) patch.base_url.emplace(read_base_url(fields));
    if (fields.given("key_alias")) patch.key_alias.emplace(read_key_alias(fields));
    patch.models = fields.texts("models", models_max);
    if (refused(request, findings)) return;
    store::update_endpoint(request->database(), request->tenant().id, found.id, std::move(patch), request->now(),
                           [request](const Result<model::ModelEndpoint>& changed) {
                             if (!changed) return fail(request, changed.error());
                             request->answer_json(200, model::to_json(changed.value()));
                           });
  });
}

void delete_model_endpoint(const RequestPtr& request) {
  with_endpoint(request, [request](const model::ModelEndpoint& found) {
    store::delete_endpoint(request->database(), request->tenant().id, found.id, [request](const Result<Unit>& removed) {
      if (removed) return request->no_content();
      if (removed.error().kind != ErrorKind::conflict) return request->fail(removed.error());
      request->problem(model::Slug::resource_in_use, "An agent uses this model endpoint.");
    });
  });
}

}  // namespace sluice::api::integration
