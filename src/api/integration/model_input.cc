#include "api/integration/model_input.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

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

}  // namespace sluice::api::integration
