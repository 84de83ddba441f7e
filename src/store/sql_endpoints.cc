#include "store/sql_endpoints.h"

#include "store/sql_rows.h"

namespace sluice::store {

int64_t read_row(Query& query, model::ModelEndpoint& endpoint) {
  int64_t number = 0;
  query.read(number, endpoint.id, endpoint.tenant_id, endpoint.name, endpoint.provider, endpoint.base_url,
             endpoint.key_alias, endpoint.models, endpoint.created_at, endpoint.updated_at);
  return number;
}

namespace {

std::optional<model::ModelEndpoint> endpoint_of(Connection& db, model::TenantId tenant, model::ModelEndpointId id) {
  return find_row<model::ModelEndpoint>(db, "SELECT * FROM model_endpoints WHERE id = ? AND tenant_id = ?", id, tenant);
}

std::optional<Error> refusal_of_name(Connection& db, const model::ModelEndpoint& endpoint) {
  const auto other =
      find_row<model::ModelEndpoint>(db, "SELECT * FROM model_endpoints WHERE tenant_id = ? AND name = ? AND id <> ?",
                                     endpoint.tenant_id, endpoint.name, endpoint.id);
  if (!other) return std::nullopt;
  return Error{ErrorKind::conflict, "the name is that of model endpoint " + other->id.text()};
}

Result<Unit> create_endpoint(Connection& db, const model::ModelEndpoint& made) {
  if (!has_tenant(db, made.tenant_id)) return no_such("tenant");
  if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
  execute(db, "INSERT INTO model_endpoints VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id,
          made.name, made.provider, made.base_url, made.key_alias, list_text(made.models), made.created_at,
          made.updated_at);
  return Unit{};
}

Result<model::ModelEndpoint> update_endpoint(Connection& db, model::TenantId tenant, model::ModelEndpointId id,
                                             const EndpointPatch& patch, Timestamp at) {
  auto found = endpoint_of(db, tenant, id);
  if (!found) return no_such("model endpoint");
  apply(patch, at, *found);
  if (auto refused = refusal_of_name(db, *found)) return *std::move(refused);
  execute(db,
          "UPDATE model_endpoints SET name = ?, provider = ?, base_url = ?, key_alias = ?, models = ?, updated_at = ? "
          "WHERE id = ?",
          found->name, found->provider, found->base_url, found->key_alias, list_text(found->models), at, id);
  execute(db,
          "UPDATE agents SET model_provider = ?, model_base_url = ?, model_key_alias = ?, updated_at = ? "
          "WHERE model_endpoint = ?",
          found->provider, found->base_url, found->key_alias, at, id);
  return *found;
}

Result<Unit> remove_endpoint(Connection& db, model::TenantId tenant, model::ModelEndpointId id) {
  if (!endpoint_of(db, tenant, id)) return no_such("model endpoint");
  if (find_number(db, "SELECT number FROM agents WHERE model_endpoint = ? LIMIT 1", id)) {
    return Error{ErrorKind::conflict, "an agent uses it"};
  }
  execute(db, "DELETE FROM model_endpoints WHERE id = ?", id);
  return Unit{};
}

}  // namespace

void SqlEndpoints::create(model::ModelEndpoint made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  desk_.write(whose, std::move(done), [made = std::move(made)](Connection& db) { return create_endpoint(db, made); });
}

void SqlEndpoints::update(model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch, Timestamp at,
                          Done<model::ModelEndpoint> done) {
  desk_.write(tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return update_endpoint(db, tenant, id, patch, at);
  });
}

void SqlEndpoints::remove(model::TenantId tenant, model::ModelEndpointId id, Done<Unit> done) {
  desk_.write(tenant, std::move(done), [tenant, id](Connection& db) { return remove_endpoint(db, tenant, id); });
}

void SqlEndpoints::find(model::TenantId tenant, std::string id_or_name, Done<model::ModelEndpoint> done) {
  desk_.read(tenant, std::move(done),
             [tenant, id_or_name = std::move(id_or_name)](Connection& db) -> Result<model::ModelEndpoint> {
               const auto id = model::ModelEndpointId::parse(id_or_name);
               auto found = id ? endpoint_of(db, tenant, *id) : std::nullopt;
               if (!found) {
                 found = find_row<model::ModelEndpoint>(
                     db, "SELECT * FROM model_endpoints WHERE tenant_id = ? AND name = ?", tenant, id_or_name);
               }
               if (!found) return no_such("model endpoint");
               return *std::move(found);
             });
}

void SqlEndpoints::list(model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
                        Done<Page<model::ModelEndpoint>> done) {
  desk_.read(tenant, std::move(done), [tenant, query](Connection& db) {
    return page_of_tenant<model::ModelEndpoint>(db, "model_endpoints", tenant, query);
  });
}

}  // namespace sluice::store
