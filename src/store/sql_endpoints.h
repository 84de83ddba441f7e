// The model endpoints of a SqlStore.
#pragma once

#include "store/sql_desk.h"

namespace sluice::store {

class SqlEndpoints final : public Endpoints {
 public:
  explicit SqlEndpoints(SqlDesk& desk) : desk_(desk) {}

  void create(model::ModelEndpoint made, Done<Unit> done) override;
  void update(model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch, Timestamp at,
              Done<model::ModelEndpoint> done) override;
  void remove(model::TenantId tenant, model::ModelEndpointId id, Done<Unit> done) override;
  void find(model::TenantId tenant, std::string id_or_name, Done<model::ModelEndpoint> done) override;
  void list(model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
            Done<Page<model::ModelEndpoint>> done) override;

 private:
  SqlDesk& desk_;
};

}  // namespace sluice::store
