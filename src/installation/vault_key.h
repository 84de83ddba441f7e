// The operator's master key, under which secrets are sealed: read from the configuration, or created at the first
// start. Every function blocks and is called before the server serves, or by a command.
#pragma once

#include <memory>

#include "config/config.h"
#include "installation/data_dir.h"
#include "store/store.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::installation {

using config::Config;

struct SealerNeeds {
  const DataDir& data;
  store::Store& store;
  world::Reactor& reactor;
  world::Entropy& entropy;
};

// Reads vault.key, or vault.key_file, or DIR/vault.key, which is created (0600) if neither is configured. The result
// has passed check_seals().
Result<std::unique_ptr<vault::Sealer>> open_sealer(const Config& config, const SealerNeeds& needs);

// Runs the reactor while the store works. `invalid` if the store holds a secret that is sealed under a key that was not
// given: a server without that key would refuse every decision and send no secret, without an obvious reason.
Result<Unit> check_seals(store::Store& store, world::Reactor& reactor, const vault::Sealer& sealer);

// Puts a new key before the others of the key file; returns the path of that file.
Result<std::string> add_vault_key(const Config& config, world::Entropy& entropy);

}  // namespace sluice::installation
