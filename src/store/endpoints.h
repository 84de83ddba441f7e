// Model endpoints of a workspace. Part of the store's door: the errors, the threads and the transactions are those of
// store/store.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
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

class Endpoints {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Endpoints() = default;

  // Names are unique within a tenant: `conflict`.
  virtual void create(model::ModelEndpoint made, Answer<Unit> done) = 0;
  // Agents that use it are changed in the same transaction.
  virtual void update(model::TenantId tenant, model::ModelEndpointId id, EndpointPatch patch, Timestamp at,
                      Answer<model::ModelEndpoint> done) = 0;
  // `conflict` while an agent uses it.
  virtual void remove(model::TenantId tenant, model::ModelEndpointId id, Answer<Unit> done) = 0;
  // By its id as text, or by its name.
  virtual void find(model::TenantId tenant, std::string id_or_name, Answer<model::ModelEndpoint> done) = 0;
  // Oldest first.
  virtual void list(model::TenantId tenant, PageQuery<model::ModelEndpointId> query,
                    Answer<Page<model::ModelEndpoint>> done) = 0;
};

// What both kinds of store do alike.
inline void apply(const EndpointPatch& patch, Timestamp at, model::ModelEndpoint& endpoint) {
  if (patch.name) endpoint.name = *patch.name;
  if (patch.provider) endpoint.provider = *patch.provider;
  if (patch.base_url) endpoint.base_url = *patch.base_url;
  if (patch.key_alias) endpoint.key_alias = *patch.key_alias;
  if (patch.models) endpoint.models = *patch.models;
  endpoint.updated_at = at;
}

}  // namespace sluice::store
