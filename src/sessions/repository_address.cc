#include "sessions/repository_address.h"

#include <algorithm>
#include <charconv>

#include "base/addresses.h"
#include "net/net.h"

namespace sluice::sessions {
namespace {

constexpr int port_max = 65'535;

bool is_host_name(std::string_view host) {
  return !host.empty() && host[0] != '-' && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

int default_port_of(std::string_view scheme) { return scheme == "https" ? 443 : scheme == "http" ? 80 : 22; }

std::string normal(std::string_view host) {
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (name.ends_with('.')) name.pop_back();
  // However it is spelt, git asks for it as it is written here.
  const auto address = parse_address(name);
  return address ? address->text() : name;
}

}  // namespace

Result<RepositoryHost> repository_host(std::string_view url, const std::vector<std::string>& rules) {
  const auto colon = std::min(url.find("://"), url.size());
  auto authority = url.substr(std::min(colon + 3, url.size()));
  authority = authority.substr(0, authority.find('/'));
  authority.remove_prefix(authority.rfind('@') + 1);
  const auto bracket = authority.starts_with('[') ? authority.find(']') : std::string_view::npos;
  const auto end = bracket == std::string_view::npos ? std::min(authority.find(':'), authority.size()) : bracket + 1;
  RepositoryHost host{
      .name = normal(bracket == std::string_view::npos ? authority.substr(0, end) : authority.substr(1, bracket - 1)),
      .port = default_port_of(url.substr(0, colon)),
      .public_only = net::reach_of(url, rules) != net::Reach::anywhere};
  if (!parse_address(host.name) && !is_host_name(host.name)) {
    return Error{ErrorKind::denied, std::string(authority) + " is not a plain host name"};
  }
  if (const auto port = authority.substr(end); port.size() > 1) {
    const auto* const last = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, last, host.port);
    const bool is_port = port[0] == ':' && read.ec == std::errc() && read.ptr == last;
    if (!is_port || host.port < 1 || host.port > port_max) {
      return Error{ErrorKind::denied, std::string(authority) + " has no valid port"};
    }
  }
  return host;
}

}  // namespace sluice::sessions
