// The first start of a server: it creates a demo tenant with its keys, and bootstrap.json, from which the operator
// reads them. Functions block and are called on the main thread before the server serves.
//
// The secrets are on disk (bootstrap.json.pending) before they are in the store, so that the next start can finish the
// work after a crash at any point, and the operator is not locked out.
#pragma once

#include <optional>
#include <string>

#include "installation/data_dir.h"
#include "model/model.h"
#include "store/store.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::installation {

// The content of bootstrap.json. Empty members are omitted.
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
  no,        // bootstrap.json existed
  yes,       // the demo tenant was created
  key_lost,  // there are tenants but no bootstrap.json: only the admin key is new
  joined,    // other servers created the tenants; this one has their admin key
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

// Runs the reactor while the store works. `configured_admin_key` replaces a generated one. If servers share the store,
// one of them creates the demo tenant; the others are refused as `invalid` unless they are configured with its admin
// key.
Result<Opening> open_bootstrap(BootstrapNeeds needs, const model::ModelChoice& model,
                               const std::string& configured_admin_key, bool is_shared);

// Servers that share a store must have the same admin key, because more secrets are derived from it: `invalid` if
// running servers have another key. A server that runs alone may change the key.
Result<Unit> agree_on_admin_key(store::Store& store, world::Reactor& reactor, const std::string& admin_key);

// Writes bootstrap.json if its content differs, and removes bootstrap.json.pending.
Result<Unit> keep_bootstrap(const DataDir& data, const Bootstrap& bootstrap);

// A shell command that starts a conversation. The shell reads the service key from `bootstrap_file`, so that the key is
// in no log and in no history.
std::string curl_line(std::string_view base_url, std::string_view bootstrap_file, std::string_view ca_file);

}  // namespace sluice::installation
