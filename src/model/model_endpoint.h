// A place where models are, under a name that agents can use. Values only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sluice::model {

struct ModelEndpoint {
  ModelEndpointId id;
  TenantId tenant_id;
  std::string name;  // unique within the tenant
  std::string provider;
  std::optional<std::string> base_url;   // empty: the provider's own
  std::optional<std::string> key_alias;  // a secret of the tenant's; empty: the provider's own key
  std::vector<std::string> models;       // that may be chosen; empty: any
  Timestamp created_at;
  Timestamp updated_at;
};

void append_json(std::string& out, const ModelEndpoint& endpoint);

}  // namespace sluice::model
