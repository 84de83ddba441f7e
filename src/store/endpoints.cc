#include "store/endpoints.h"

#include "store/database.h"
#include "store/sql_rows.h"

namespace sluice::store {

int64_t read_row(Query& query, model::ModelEndpoint& endpoint) {
  int64_t number = 0;
  query.read(number, endpoint.id, endpoint.tenant_id, endpoint.name, endpoint.provider, endpoint.base_url,
             endpoint.key_alias, endpoint.models, endpoint.created_at, endpoint.updated_at);
  return number;
}

namespace {

void apply(const EndpointPatch& patch, Timestamp at, model::ModelEndpoint& endpoint) {
  if (patch.name) endpoint.name = *patch.name;
  if (patch.provider) endpoint.provider = *patch.provider;
  if (patch.base_url) endpoint.base_url = *patch.base_url;
  if (patch.key_alias) endpoint.key_alias = *patch.key_alias;
  if (patch.models) endpoint.models = *patch.models;
  endpoint.updated_at = at;
}

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

}  // namespace

void create_endpoint(Database& database, model::ModelEndpoint made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<Unit> {
    if (!has_tenant(db, made.tenant_id)) return no_such("tenant");
    if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
    execute(db, "INSERT INTO model_endpoints VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id,
            made.name, made.provider, made.base_url, made.key_alias, list_text(made.models), made.created_at,
            made.updated_at);
    return Unit{};
  });
}

void update_endpoint(Database& database, model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch,
                     Timestamp at, Done<model::ModelEndpoint> done) {
  database.write(
      tenant, std::move(done),
      [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::ModelEndpoint> {
        auto found = endpoint_of(db, tenant, id);
        if (!found) return no_such("model endpoint");
        apply(patch, at, *found);
        if (auto refused = refusal_of_name(db, *found)) return *std::move(refused);
        execute(db,
                "UPDATE model_endpoints SET name = ?, provider = ?, base_url = ?, key_alias = ?, models = ?, "
                "updated_at = ? "
                "WHERE id = ?",
                found->name, found->provider, found->base_url, found->key_alias, list_text(found->models), at, id);
        execute(db,
                "UPDATE agents SET model_provider = ?, model_base_url = ?, model_key_alias = ?, updated_at = ? "
                "WHERE model_endpoint = ?",
                found->provider, found->base_url, found->key_alias, at, id);
        return *found;
      });
}

void delete_endpoint(Database& database, model::TenantId tenant, model::ModelEndpointId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    if (!endpoint_of(db, tenant, id)) return no_such("model endpoint");
    if (find_number(db, "SELECT number FROM agents WHERE model_endpoint = ? LIMIT 1", id)) {
      return Error{ErrorKind::conflict, "an agent uses it"};
    }
    execute(db, "DELETE FROM model_endpoints WHERE id = ?", id);
    return Unit{};
  });
}

void find_endpoint(Database& database, model::TenantId tenant, std::string id_or_name,
                   Done<model::ModelEndpoint> done) {
  database.read(tenant, std::move(done),
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

void endpoints(Database& database, model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
               Done<Page<model::ModelEndpoint>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) {
    return page_of_tenant<model::ModelEndpoint>(db, "model_endpoints", tenant, query);
  });
}

}  // namespace sluice::store
