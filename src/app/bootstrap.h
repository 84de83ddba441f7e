// The first start: a demo tenant with its keys, and bootstrap.json which tells them to the operator.
//
// The secrets are on disk (bootstrap.json.pending) before the store knows them, so a crash anywhere in
// between is finished by the next start instead of locking the operator out.
#pragma once

#include <optional>
#include <string>

#include "app/data_dir.h"
#include "model/model.h"
#include "store/store.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::app {

// What bootstrap.json says. A member that is empty is left out.
struct Bootstrap {
  std::string tenant_id;
  std::string service_key;
  std::string approver_key_id;
  std::string approver_secret;
  std::string admin_key;
  std::string runner_key;
  std::string workspace_id;
  std::string base_url;

  std::string to_json() const;
  static Result<Bootstrap> parse(std::string_view text);
  bool operator==(const Bootstrap&) const = default;
};

enum class FirstStart : uint8_t {
  no,        // bootstrap.json was there
  yes,       // the demo tenant was made
  key_lost,  // there are tenants but no bootstrap.json: only the admin key was made anew
  joined,    // other servers made the tenants; this one has their admin key
};

struct Opening {
  Bootstrap bootstrap;
  FirstStart first_start = FirstStart::no;
};

struct BootstrapNeeds {
  const DataDir& data;
  store::Store& store;
  world::Reactor& reactor;
  world::IdSource& ids;
  world::Entropy& entropy;
  vault::Sealer& sealer;
};

// Blocks: runs the reactor while the store works. `configured_admin_key` wins over one of our making. Where servers
// share the store one of them makes the demo tenant, and the others must be given its admin key: `invalid`.
Result<Opening> open_bootstrap(BootstrapNeeds needs, const model::ModelChoice& model,
                               const std::string& configured_admin_key, bool is_shared);

// Blocks, too. Where servers share the store all of them have one admin key, from which more is derived: `invalid` when
// others live that have another. A server that is alone may come with another one.
Result<Unit> agree_on_admin_key(store::Store& store, world::Reactor& reactor, const std::string& admin_key);

// Writes bootstrap.json if it does not say this already, and forgets what was pending.
Result<Unit> keep_bootstrap(const DataDir& data, const Bootstrap& bootstrap);

}  // namespace sluice::app
