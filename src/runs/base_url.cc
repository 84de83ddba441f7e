#include "runs/base_url.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "gates/gates.h"

namespace sluice::runs {

std::string_view host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const auto user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
  if (url.starts_with('[')) return url.substr(0, std::min(url.find(']'), url.size() - 1) + 1);
  return url.substr(0, url.find(':'));
}

int port_of(std::string_view url) {
  const bool is_https = url.starts_with("https://");
  const int of_scheme = is_https ? 443 : url.starts_with("http://") ? 80 : 0;
  const auto host = host_of(url);
  const auto rest = url.substr(static_cast<std::size_t>(host.data() + host.size() - url.data()));
  if (!rest.starts_with(':')) return of_scheme;
  int port = 0;
  const auto* end = rest.data() + rest.size();
  const auto [last, error] = std::from_chars(rest.data() + 1, end, port);
  return error == std::errc() && port > 0 && port <= 65'535 ? port : of_scheme;
}

bool may_be_sent(const vault::Secret& secret, std::string_view host) {
  const auto name = gates::normal_host(host);
  return secret.hosts.empty() || (name && std::ranges::any_of(secret.hosts, [&](const std::string& pattern) {
                                    return gates::host_matches(pattern, *name);
                                  }));
}

std::string basic_credentials(std::string_view user, std::string_view password) {
  auto text = to_base64url(std::string(user) + ":" + std::string(password));
  // The alphabet and the padding that base64url leaves out.
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

}  // namespace sluice::runs
