#include "egress/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "http/text.h"

namespace sluice::egress {
namespace {

constexpr int silence_seconds_max = 2;

}  // namespace

Result<std::vector<Address>> look_up_in_dns(const std::string& host) {
  // The resolver's settings are each thread's own, and go back to the file's when that changes.
  if ((_res.options & RES_INIT) == 0) res_init();
  _res.retrans = silence_seconds_max;
  _res.retry = 1;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return Error{ErrorKind::unavailable, gai_strerror(error)};
  }
  std::vector<Address> out;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (at->ai_family == AF_INET || at->ai_family == AF_INET6) out.push_back(address_of(*at->ai_addr));
  }
  freeaddrinfo(found);
  return out;
}

Result<std::unique_ptr<Resolver>> Resolver::make(const std::map<std::string, std::string>& host_addresses,
                                                 const std::vector<std::string>& private_addresses, Lookup lookup,
                                                 world::Reactor& reactor, world::Workers& workers) {
  std::unique_ptr<Resolver> out(new Resolver(std::move(lookup), reactor, workers));
  for (const auto& [host, text] : host_addresses) {
    const auto address = parse_address(text);
    if (!address) return Error{ErrorKind::invalid, "the address of " + host + " is invalid: " + text};
    out->known_.emplace(http::lower_case(host), *address);
  }
  for (const auto& text : private_addresses) {
    const auto range = parse_range(text);
    if (!range) return Error{ErrorKind::invalid, text + " is no range of addresses; write it like 10.1.0.0/16"};
    out->opened_.push_back(*range);
  }
  return out;
}

void Resolver::resolve(const Requester& requester, Lifetime::Watch wanted, const Destination& to, Done done) {
  std::optional<Address> known;
  if (const auto at = known_.find(to.host); at != known_.end()) known = at->second;
  if (to.is_address) known = parse_address(to.host);
  if (known || to.is_address) {
    std::vector<Address> all;
    if (known) all.push_back(*known);
    return reactor_.defer([wanted, result = checked(to, all), done = std::move(done)]() mutable {
      if (!wanted.is_over()) done(std::move(result));
    });
  }
  lookups_.look_up(requester, std::move(wanted), to.host,
                   [this, to, done = std::move(done)](const Result<std::vector<Address>>& found) mutable {
                     if (!found) return done(Error{ErrorKind::unavailable, found.error().what});
                     done(checked(to, found.value()));
                   });
}

bool Resolver::is_opened(const Address& address) const {
  return std::any_of(opened_.begin(), opened_.end(), [&](const AddressRange& range) { return range.holds(address); });
}

Result<std::vector<Address>> Resolver::checked(const Destination& to, const std::vector<Address>& addresses) const {
  if (to.reach == Reach::anywhere && !addresses.empty()) return addresses;
  const bool may_be_opened = to.reach == Reach::sandbox;
  std::vector<Address> out;
  std::string why;
  for (const Address& address : addresses) {
    const std::string_view forbidden = why_forbidden(address);
    if (forbidden.empty() || (may_be_opened && is_opened(address))) {
      out.push_back(address);
    } else {
      why = may_be_opened ? std::string(forbidden) : address.text() + ", " + std::string(forbidden);
    }
  }
  if (!out.empty()) return out;
  if (why.empty()) return Error{ErrorKind::unavailable, to.host + " has no address"};
  return Error{ErrorKind::denied, to.host + " leads to " + why + (may_be_opened ? ", which no sandbox may reach" : "")};
}

}  // namespace sluice::egress
