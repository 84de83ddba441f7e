#include "runner/repository_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/addresses.h"
#include "net/net.h"

namespace sluice::runner {
namespace {

struct FreeFound {
  void operator()(addrinfo* found) const { freeaddrinfo(found); }
};

bool is_host_name(std::string_view host) {
  return !host.ends_with('.') && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

int default_port_of(std::string_view scheme) { return scheme == "https" ? 443 : scheme == "http" ? 80 : 22; }

}  // namespace

std::optional<RepositoryHost> host_to_look_up(std::string_view url, const std::vector<std::string>& rules) {
  if (net::reach_of(url, rules) != net::Reach::public_addresses) return std::nullopt;
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  RepositoryHost host{.port = default_port_of(url.substr(0, colon))};
  auto authority = url.substr(colon + 3);
  authority = authority.substr(0, authority.find('/'));
  authority.remove_prefix(authority.rfind('@') + 1);
  const auto bracket = authority.starts_with('[') ? authority.find(']') : std::string_view::npos;
  const auto end = bracket == std::string_view::npos ? std::min(authority.find(':'), authority.size()) : bracket + 1;
  host.name = bracket == std::string_view::npos ? authority.substr(0, end) : authority.substr(1, bracket - 1);
  if (const auto port = authority.substr(end); port.size() > 1) {
    std::from_chars(port.data() + 1, port.data() + port.size(), host.port);
  }
  return host;
}

Result<std::string> public_address_of(const std::string& host) {
  // What git and the resolver could spell in two ways is not looked up by the one and connected to by the other.
  if (!parse_address(host) && !is_host_name(host)) return Error{ErrorKind::denied, host + " is not a plain host name"};
  const addrinfo wanted{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* all = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), nullptr, &wanted, &all); failed != 0) {
    return Error{ErrorKind::unavailable, host + " is not found: " + gai_strerror(failed)};
  }
  const std::unique_ptr<addrinfo, FreeFound> owned(all);
  std::string what;
  for (const auto* found = all; found != nullptr; found = found->ai_next) {
    const auto address = address_of(*found->ai_addr);
    const auto why = why_forbidden(address);
    if (why.empty()) return address.text();
    what =
        host + " leads to " + address.text() + ", " + std::string(why) +
        ". The rule * of repositories.allowed_urls allows public addresses only; the server's operator can name this "
        "host there";
  }
  return Error{ErrorKind::denied, std::move(what)};
}

}  // namespace sluice::runner
