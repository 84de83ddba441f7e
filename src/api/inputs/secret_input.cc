#include "api/inputs/secret_input.h"

#include <limits>

#include "gates/gates.h"

namespace sluice::api {
namespace {

constexpr std::string_view secret_names[] = {"value", "hosts", "places"};
constexpr std::size_t hosts_max = 50;
constexpr std::size_t places_max = 4;
// check_value() has its own words for what is too long.
constexpr TextRule any_text{.chars_max = std::numeric_limits<std::size_t>::max()};

void read_value(const Fields& fields, std::string_view name, SecretInput& out) {
  auto value = fields.text(name, any_text, Null::refused);
  if (!value) return;
  const auto checked = vault::check_value(*value);
  if (!checked) return fields.refuse(name, checked.error().what);
  out.value = std::move(*value);
}

void read_hosts(const Fields& fields, SecretInput& out) {
  out.hosts = fields.texts("hosts", hosts_max);
  if (!out.hosts) return;
  if (out.hosts->empty()) fields.refuse("hosts", "must not be empty; leave it out to let the agent's policy decide");
  for (std::size_t i = 0; i < out.hosts->size(); ++i) {
    const auto checked = gates::check_rule({.subject = model::Subject::host, .pattern = (*out.hosts)[i]});
    if (!checked) fields.refuse_at("hosts/" + std::to_string(i), checked.error().what);
  }
}

void read_places(const Fields& fields, SecretInput& out) {
  const auto names = fields.texts("places", places_max);
  if (!names) return;
  if (names->empty()) fields.refuse("places", "must not be empty; leave it out for header and basic");
  uint8_t places = 0;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto place = model::secret_place_named((*names)[i]);
    if (!place) {
      fields.refuse_at("places/" + std::to_string(i), "must be one of header, query, body, basic");
    } else {
      places |= *place;
    }
  }
  out.places = places;
}

SecretInput read_secret(const Fields& fields, std::string alias) {
  SecretInput out;
  if (fields.is_text(alias)) {
    read_value(fields, alias, out);
  } else if (const auto bound = fields.object(alias, secret_names, Null::refused)) {
    bound->require("value");
    if (bound->given("value")) read_value(*bound, "value", out);
    read_hosts(*bound, out);
    read_places(*bound, out);
  }
  out.alias = std::move(alias);
  return out;
}

std::string aliases_json(model::SecretScope scope, const std::vector<model::SealedSecret>& secrets) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("scope").string(model::name_of(scope)).key("aliases").begin_array();
  for (const auto& secret : secrets) writer.string(secret.alias);
  writer.end_array().end_object();
  return out;
}

}  // namespace

std::vector<SecretInput> read_secrets(const Fields& fields) {
  const auto secrets = fields.object("secrets", {});
  if (!secrets) return {};
  auto names = secrets->names();
  if (names.size() > vault::secrets_per_request_max) {
    fields.refuse("secrets", "must have at most " + std::to_string(vault::secrets_per_request_max) + " entries");
    return {};
  }
  std::vector<SecretInput> out;
  for (auto& name : names) {
    if (!model::is_alias(name)) {
      fields.refuse("secrets", "each name must be an alias: ^[A-Z][A-Z0-9_]{0,63}$");
    } else {
      out.push_back(read_secret(*secrets, std::move(name)));
    }
  }
  return out;
}

std::vector<model::SealedSecret> seal(const RequestPtr& request, const SecretOwner& owner,
                                      std::vector<SecretInput> secrets) {
  std::vector<model::SealedSecret> out;
  for (auto& secret : secrets) {
    model::SealedSecret sealed{.tenant_id = request->tenant().id,
                               .scope = owner.scope,
                               .owner = owner.id,
                               .alias = std::move(secret.alias),
                               .hosts = std::move(secret.hosts).value_or(std::vector<std::string>{}),
                               .places = secret.places.value_or(model::places_by_default)};
    sealed.created_at = sealed.updated_at = request->now();
    sealed.sealed = request->services().needs.sealer.seal(sealed.tenant_id, vault::context_of(sealed), secret.value);
    out.push_back(std::move(sealed));
  }
  return out;
}

model::AuditEntry audit_of_put(const RequestPtr& request, const SecretOwner& owner,
                               const std::vector<model::SealedSecret>& secrets) {
  return audit_of(request, "secret.put", owner.name, aliases_json(owner.scope, secrets));
}

void keep_secrets(const RequestPtr& request, const SecretOwner& owner, std::vector<SecretInput> secrets,
                  Callback<void()> then) {
  auto sealed = seal(request, owner, std::move(secrets));
  std::vector<model::AuditEntry> audit{audit_of_put(request, owner, sealed)};
  store::put_secrets(request->database(), std::move(sealed), std::move(audit),
                     [request, then = std::move(then)](const Result<Unit>& kept) mutable {
                       // Also when it failed: the outcome may be unknown.
                       request->engine().secrets_changed(request->tenant().id);
                       if (kept) return then();
                       if (kept.error().kind == ErrorKind::invalid)
                         return request->invalid("/secrets", kept.error().what);
                       if (kept.error().kind != ErrorKind::conflict) return request->fail(kept.error());
                       request->problem(model::Slug::conversation_archived,
                                        "This conversation is archived; its secrets are destroyed.");
                     });
}

model::AuditEntry audit_of(const RequestPtr& request, std::string action, std::string subject, std::string detail) {
  return {.tenant_id = request->tenant().id,
          .action = std::move(action),
          .subject = std::move(subject),
          .actor = request->caller().actor(),
          .detail = std::move(detail),
          .at = request->now()};
}

}  // namespace sluice::api
