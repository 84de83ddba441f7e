// Names to addresses, and only to those that a box may reach: what is connected to is exactly what was
// checked, so a name that answers differently the second time gains nothing.
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

// Gives up on a server that is silent for two seconds.
Result<std::vector<Address>> look_up_in_dns(const std::string& host);

class Resolver {
 public:
  // `invalid`, in words, when an address or a range is none.
  static Result<std::unique_ptr<Resolver>> make(const std::map<std::string, std::string>& host_addresses,
                                                const std::vector<std::string>& private_addresses, Lookup lookup,
                                                world::Reactor& reactor, world::Workers& workers);

  // The addresses that may be reached. `denied` when there are some, but none of that kind; `unavailable` when there
  // are none. Never answers from inside the call.
  // `wanted` is what waits for the answer: `done` is not called once it is gone.
  using Done = Callback<void(Result<std::vector<Address>>)>;
  void resolve(const Asker& asker, std::weak_ptr<const void> wanted, const Destination& to, Done done);

  // Did the operator open this address, though it is private?
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
