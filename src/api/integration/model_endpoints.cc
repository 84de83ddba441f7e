#include "api/integration/handlers.h"
#include "api/integration/model_input.h"
#include "api/pages.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view endpoint_names[] = {"name", "provider", "base_url", "key_alias", "models"};
constexpr std::size_t models_max = 100;

void with_endpoint(const Asked& asked, Callback<void(const model::ModelEndpoint&)> then) {
  const auto name = net::percent_decode(asked->path_param(0));
  if (!name) return asked->not_found();
  asked->store().endpoints().find(asked->tenant().id, *name,
                                  [asked, then = std::move(then)](const Result<model::ModelEndpoint>& found) mutable {
                                    if (!found) return asked->fail(found.error());
                                    then(found.value());
                                  });
}

void fail(const Asked& asked, const Error& error) {
  if (error.kind != ErrorKind::conflict) return asked->fail(error);
  asked->problem(model::Slug::name_conflict, "Another model endpoint has this name.");
}

std::optional<std::string> read_name(const Fields& fields) {
  auto name = fields.text("name", name_rule, Null::refused);
  if (name && model::ModelEndpointId::parse(*name)) fields.refuse("name", "must not look like the id of an endpoint");
  return name;
}

std::optional<std::string> read_provider(const Asked& asked, const Fields& fields) {
  auto provider = fields.text("provider", name_rule, Null::refused);
  if (provider) check_provider(asked, fields, *provider);
  return provider;
}

}  // namespace

void list_model_endpoints(const Asked& asked) {
  const auto query = read_page_query<model::ModelEndpointId>(asked);
  if (!query) return;
  asked->store().endpoints().list(
      asked->tenant().id, *query,
      [asked, query](const Result<store::Page<model::ModelEndpoint>>& page) { answer_page(asked, *query, page); });
}

void create_model_endpoint(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", endpoint_names, findings);
  fields.require("name");
  fields.require("provider");
  model::ModelEndpoint made;
  made.name = read_name(fields).value_or("");
  made.provider = read_provider(asked, fields).value_or("");
  made.base_url = read_base_url(fields);
  made.key_alias = read_key_alias(fields);
  made.models = fields.texts("models", models_max).value_or(std::vector<std::string>{});
  if (refused(asked, findings)) return;
  made.id = asked->ids().make<model::ModelEndpointId>();
  made.tenant_id = asked->tenant().id;
  made.created_at = made.updated_at = asked->now();
  asked->store().endpoints().create(made, [asked, made](const Result<Unit>& kept) {
    if (!kept) return fail(asked, kept.error());
    asked->created("/v1/model-endpoints/" + made.id.text(), model::to_json(made));
  });
}

void get_model_endpoint(const Asked& asked) {
  with_endpoint(asked, [asked](const model::ModelEndpoint& found) { asked->answer_json(200, model::to_json(found)); });
}

void update_model_endpoint(const Asked& asked) {
  with_endpoint(asked, [asked](const model::ModelEndpoint& found) {
    const auto body = read_body(asked);
    if (!body) return;
    Findings findings;
    const Fields fields(body->root(), "", endpoint_names, findings);
    store::EndpointPatch patch;
    patch.name = read_name(fields);
    patch.provider = read_provider(asked, fields);
    if (fields.given("base_url")) patch.base_url.emplace(read_base_url(fields));
    if (fields.given("key_alias")) patch.key_alias.emplace(read_key_alias(fields));
    patch.models = fields.texts("models", models_max);
    if (refused(asked, findings)) return;
    asked->store().endpoints().update(asked->tenant().id, found.id, std::move(patch), asked->now(),
                                      [asked](const Result<model::ModelEndpoint>& changed) {
                                        if (!changed) return fail(asked, changed.error());
                                        asked->answer_json(200, model::to_json(changed.value()));
                                      });
  });
}

void delete_model_endpoint(const Asked& asked) {
  with_endpoint(asked, [asked](const model::ModelEndpoint& found) {
    asked->store().endpoints().remove(asked->tenant().id, found.id, [asked](const Result<Unit>& removed) {
      if (removed) return asked->no_content();
      if (removed.error().kind != ErrorKind::conflict) return asked->fail(removed.error());
      asked->problem(model::Slug::resource_in_use, "An agent uses this model endpoint.");
    });
  });
}

}  // namespace sluice::api::integration
