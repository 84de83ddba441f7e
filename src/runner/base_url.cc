#include "runner/base_url.h"

#include <algorithm>

#include "gates/gates.h"
#include "runner/runner.h"

namespace sluice::runner {

bool is_agent_base_url_rule(std::string_view url) { return net::is_url_rule(url); }

std::string_view host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const auto user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
  if (url.starts_with('[')) return url.substr(0, std::min(url.find(']'), url.size() - 1) + 1);
  return url.substr(0, url.find(':'));
}

bool may_be_sent(const vault::Secret& secret, std::string_view host) {
  const auto name = gates::normal_host(host);
  return secret.hosts.empty() || (name && std::ranges::any_of(secret.hosts, [&](const std::string& pattern) {
                                    return gates::host_matches(pattern, *name);
                                  }));
}

}  // namespace sluice::runner
