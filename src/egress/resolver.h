// Names to addresses, and only to those that a box may reach: what is connected to is exactly what was
// checked, so a name that answers differently the second time gains nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "egress/addresses.h"
#include "egress/head_parser.h"
#include "world/world.h"

namespace sluice::egress {

// Runs on a worker's thread and may block.
using Lookup = std::function<Result<std::vector<Address>>(const std::string& host)>;
Result<std::vector<Address>> look_up_in_dns(const std::string& host);

class Resolver {
 public:
  // `invalid`, in words, when an address or a range is none.
  static Result<std::unique_ptr<Resolver>> make(const std::map<std::string, std::string>& host_addresses,
                                                const std::vector<std::string>& private_addresses, Lookup lookup,
                                                world::Reactor& reactor, world::Workers& workers);

  // The addresses that may be reached. `denied` when there are some, but none of that kind; `unavailable` when there
  // are none. Never answers from inside the call.
  using Done = Callback<void(Result<std::vector<Address>>)>;
  void resolve(const Destination& to, Done done) const;

  // Did the operator open this address, though it is private?
  bool is_opened(const Address& address) const;

 private:
  Resolver(Lookup lookup, world::Reactor& reactor, world::Workers& workers)
      : lookup_(std::move(lookup)), reactor_(reactor), workers_(workers) {}
  Result<std::vector<Address>> checked(const Destination& to, const std::vector<Address>& addresses) const;

  Lookup lookup_;
  world::Reactor& reactor_;
  world::Workers& workers_;
  std::map<std::string, Address> known_;
  std::vector<AddressRange> opened_;
  std::shared_ptr<const bool> here_ = std::make_shared<bool>(true);  // a lookup may come back after this is gone
};

}  // namespace sluice::egress
