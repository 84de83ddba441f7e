// Resolves names to the addresses that a sandbox may reach. The caller connects to exactly the addresses that were
// checked here, so a name server that answers differently the second time gains nothing. Used on the loop's thread
// only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/addresses.h"
#include "base/callback.h"
#include "base/result.h"
#include "egress/destination.h"
#include "egress/lookups.h"
#include "world/world.h"

namespace sluice::egress {

// Asks the system's name servers; gives up on a server that is silent for two seconds. Called on a worker thread.
Result<std::vector<Address>> look_up_in_dns(const std::string& host);

class Resolver {
 public:
  // Fails with `invalid` and a reason if an address or a range cannot be parsed.
  static Result<std::unique_ptr<Resolver>> make(const std::map<std::string, std::string>& host_addresses,
                                                const std::vector<std::string>& private_addresses, Lookup lookup,
                                                world::Reactor& reactor, world::Workers& workers);

  // Returns the addresses that may be reached. Fails with `denied` if the name has only others, `unavailable` if it has
  // none. `done` is never called from inside the call, nor after `wanted` is over.
  using Done = Callback<void(Result<std::vector<Address>>)>;
  void resolve(const Requester& requester, Lifetime::Watch wanted, const Destination& to, Done done);

  // True if the operator allowed this address although it is private.
  bool is_opened(const Address& address) const;

 private:
  Resolver(Lookup lookup, world::Reactor& reactor, world::Workers& workers)
      : reactor_(reactor), lookups_(std::move(lookup), reactor, workers) {}
  Result<std::vector<Address>> checked(const Destination& to, const std::vector<Address>& addresses) const;

  world::Reactor& reactor_;
  Lookups lookups_;
  std::map<std::string, Address> known_;
  std::vector<AddressRange> opened_;
};

}  // namespace sluice::egress
