#include "api/answers/pages.h"
#include "api/integration/integration.h"
#include "api/integration/model_input.h"

namespace sluice::api::integration {
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
