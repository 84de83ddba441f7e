// The operator's key, under which secrets are sealed: given in the configuration, or made at the first start.
#pragma once

#include <memory>

#include "app/config.h"
#include "app/data_dir.h"
#include "store/store.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::app {

struct SealerNeeds {
  const DataDir& data;
  store::Store& store;
  world::Reactor& reactor;
  world::Entropy& entropy;
};

// vault.key wins over vault.key_file, and that over DIR/vault.key, which is made (0600) when nothing else is given. In
// any case what check_seals() says of it.
Result<std::unique_ptr<vault::Sealer>> open_sealer(const Config& config, const SealerNeeds& needs);

// Blocks: runs the reactor while the store works. `invalid` when the store holds what is sealed under a key that was
// not given: a server that started would refuse every decision and send no secret, and nobody would know why.
Result<Unit> check_seals(store::Store& store, world::Reactor& reactor, const vault::Sealer& sealer);

// `sluice vault new-key`: puts a fresh key before the others of the key file; says which file that is.
Result<std::string> add_vault_key(const Config& config, world::Entropy& entropy);

}  // namespace sluice::app
