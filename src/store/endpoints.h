// Model endpoints of a workspace. Part of the store's public header: errors, threads and transactions are those of
// journal/journal.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model_endpoint.h"
#include "store/questions.h"

namespace sluice::store {

struct EndpointPatch {
  std::optional<std::string> name;
  std::optional<std::string> provider;
  std::optional<std::optional<std::string>> base_url;  // inner empty: cleared
  std::optional<std::optional<std::string>> key_alias;
  std::optional<std::vector<std::string>> models;
};

// Names are unique within a tenant: `conflict`.
void create_endpoint(Database& database, model::ModelEndpoint made, Done<Unit> done);
// Agents that use it are changed in the same transaction.
void update_endpoint(Database& database, model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch,
                     Timestamp at, Done<model::ModelEndpoint> done);
// `conflict` while an agent uses it.
void delete_endpoint(Database& database, model::TenantId tenant, model::ModelEndpointId id, Done<Unit> done);
// By its id as text, or by its name.
void find_endpoint(Database& database, model::TenantId tenant, std::string id_or_name, Done<model::ModelEndpoint> done);
// Oldest first.
void endpoints(Database& database, model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
               Done<Page<model::ModelEndpoint>> done);

}  // namespace sluice::store
