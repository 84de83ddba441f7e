#include "store/memory_endpoints.h"

#include "store/memory_answer.h"

namespace sluice::store {
namespace {

Error taken(const model::ModelEndpoint& other) {
  return {ErrorKind::conflict, "the name is that of model endpoint " + other.id.text()};
}

}  // namespace

model::ModelEndpoint* MemoryEndpoints::endpoint_of(model::TenantId tenant, model::ModelEndpointId id) {
  auto* const found = disk_.endpoints_.find(id);
  return found == nullptr || found->tenant_id != tenant ? nullptr : found;
}

model::ModelEndpoint* MemoryEndpoints::endpoint_named(model::TenantId tenant, std::string_view name) {
  for (auto& [number, row] : disk_.endpoints_) {
    if (row.tenant_id == tenant && row.name == name) return &row;
  }
  return nullptr;
}

void MemoryEndpoints::create(model::ModelEndpoint made, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(made.tenant_id) == nullptr) return no_such("tenant");
    if (const auto* other = endpoint_named(made.tenant_id, made.name)) return taken(*other);
    disk_.endpoints_.add(made.id, made);
    return Unit{};
  });
}

void MemoryEndpoints::update(model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch, Timestamp at,
                             Done<model::ModelEndpoint> done) {
  desk_.write<model::ModelEndpoint>(std::move(done), [&]() -> Result<model::ModelEndpoint> {
    auto* const found = endpoint_of(tenant, id);
    if (found == nullptr) return no_such("model endpoint");
    if (patch.name) {
      if (const auto* other = endpoint_named(tenant, *patch.name); other != nullptr && other != found) {
        return taken(*other);
      }
    }
    apply(patch, at, *found);
    for (auto& [number, agent] : disk_.agents_) {
      if (agent.model.endpoint != id) continue;
      agent.model = {found->provider, agent.model.name, found->base_url, found->key_alias, id};
      agent.updated_at = at;
    }
    return *found;
  });
}

void MemoryEndpoints::remove(model::TenantId tenant, model::ModelEndpointId id, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    if (endpoint_of(tenant, id) == nullptr) return no_such("model endpoint");
    for (auto& [number, agent] : disk_.agents_) {
      if (agent.model.endpoint == id) return Error{ErrorKind::conflict, "an agent uses it"};
    }
    disk_.endpoints_.remove(id);
    return Unit{};
  });
}

void MemoryEndpoints::find(model::TenantId tenant, std::string id_or_name, Done<model::ModelEndpoint> done) {
  const auto id = model::ModelEndpointId::parse(id_or_name);
  const auto* found = id ? endpoint_of(tenant, *id) : nullptr;
  if (found == nullptr) found = endpoint_named(tenant, id_or_name);
  if (found == nullptr) return desk_.answer<model::ModelEndpoint>(no_such("model endpoint"), std::move(done));
  desk_.answer<model::ModelEndpoint>(*found, std::move(done));
}

void MemoryEndpoints::list(model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
                           Done<Page<model::ModelEndpoint>> done) {
  const auto rows = rows_of<model::ModelEndpoint>(disk_.endpoints_, tenant);
  desk_.answer<Page<model::ModelEndpoint>>(cut_page(rows, query, id_of, all), std::move(done));
}

}  // namespace sluice::store
