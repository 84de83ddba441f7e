// The model endpoints of a MemoryStore.
#pragma once

#include "store/memory_desk.h"

namespace sluice::store {

class MemoryEndpoints final : public Endpoints {
 public:
  MemoryEndpoints(MemoryDisk& disk, MemoryDesk& desk) : disk_(disk), desk_(desk) {}

  void create(model::ModelEndpoint made, Done<Unit> done) override;
  void update(model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch, Timestamp at,
              Done<model::ModelEndpoint> done) override;
  void remove(model::TenantId tenant, model::ModelEndpointId id, Done<Unit> done) override;
  void find(model::TenantId tenant, std::string id_or_name, Done<model::ModelEndpoint> done) override;
  void list(model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
            Done<Page<model::ModelEndpoint>> done) override;

 private:
  model::ModelEndpoint* endpoint_of(model::TenantId tenant, model::ModelEndpointId id);
  model::ModelEndpoint* endpoint_named(model::TenantId tenant, std::string_view name);

  MemoryDisk& disk_;
  MemoryDesk& desk_;
};

}  // namespace sluice::store
