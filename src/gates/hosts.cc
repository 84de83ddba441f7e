// Hosts: one spelling for each, patterns against it, and where secrets may go.
#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "gates/gates.h"

namespace sluice::gates {
namespace {

constexpr std::size_t name_chars_max = 253;
constexpr std::size_t label_chars_max = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

std::optional<std::string> ipv6(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> out{};
  // ::ffff:10.0.0.1 is 10.0.0.1 to every kernel, so it must be the same to every rule.
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, &address.s6_addr[12], out.data(), out.size());
  } else {
    inet_ntop(AF_INET6, &address, out.data(), out.size());
  }
  return std::string(out.data());
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= label_chars_max && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; });
}

// 127.1, 0x7f.0.0.1 and 2130706433 are addresses to some resolvers and names to others.
bool ends_in_number(std::string_view name) {
  const auto last = name.substr(name.rfind('.') + 1);
  return std::ranges::all_of(last, is_digit) || last.starts_with("0x");
}

bool is_wildcard(std::string_view pattern) { return pattern.starts_with("*."); }

std::string_view without_wildcard(std::string_view pattern) {
  return is_wildcard(pattern) ? pattern.substr(2) : pattern;
}

// Is there a host that both stand for?
bool may_meet(std::string_view one, std::string_view other) {
  return one == "*" || other == "*" || host_matches(one, without_wildcard(other)) ||
         host_matches(other, without_wildcard(one)) ||
         normal_host(without_wildcard(one)) == normal_host(without_wildcard(other));
}

bool names_secret(const model::PolicyRule& rule, std::string_view alias) {
  return std::ranges::any_of(rule.secrets, [&](const std::string& named) { return named == "*" || named == alias; });
}

bool allows_secrets(const model::PolicyRule& rule, std::string_view host) {
  return rule.subject == model::Subject::host && rule.effect == model::Effect::allow && !rule.secrets.empty() &&
         host_matches(rule.pattern, host);
}

}  // namespace

std::optional<std::string> normal_host(std::string_view host) {
  std::string name(host);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name.find('\0') != std::string::npos) return std::nullopt;
  if (name.starts_with('[')) {
    if (!name.ends_with(']')) return std::nullopt;
    return ipv6(name.substr(1, name.size() - 2));
  }
  if (name.find(':') != std::string::npos) return ipv6(name);
  if (name.ends_with('.')) name.pop_back();
  if (name.empty() || name.size() > name_chars_max) return std::nullopt;
  for (std::size_t from = 0; from <= name.size();) {
    const auto end = std::min(name.find('.', from), name.size());
    if (!is_label(std::string_view(name).substr(from, end - from))) return std::nullopt;
    from = end + 1;
  }
  in_addr address{};
  if (ends_in_number(name) && inet_pton(AF_INET, name.c_str(), &address) != 1) return std::nullopt;
  return name;
}

bool host_matches(std::string_view pattern, std::string_view host) {
  const auto name = normal_host(host);
  if (!name) return false;
  if (pattern == "*") return true;
  const auto wanted = normal_host(is_wildcard(pattern) ? pattern.substr(2) : pattern);
  if (!wanted) return false;
  return is_wildcard(pattern) ? name->ends_with("." + *wanted) : *name == *wanted;
}

bool secret_may_go(const model::Policy& policy, std::string_view alias, const std::vector<std::string>& hosts,
                   std::string_view host) {
  const auto denies = [&](const model::PolicyRule& rule) {
    return rule.subject == model::Subject::host && rule.effect == model::Effect::deny &&
           host_matches(rule.pattern, host);
  };
  if (std::ranges::any_of(policy, denies)) return false;
  if (!hosts.empty()) {
    return std::ranges::any_of(hosts, [&](const std::string& pattern) { return host_matches(pattern, host); });
  }
  return std::ranges::any_of(
      policy, [&](const model::PolicyRule& rule) { return allows_secrets(rule, host) && names_secret(rule, alias); });
}

bool secret_may_be_used(const model::Policy& policy, std::string_view alias, const std::vector<std::string>& hosts) {
  return std::ranges::any_of(policy, [&](const model::PolicyRule& rule) {
    if (rule.subject != model::Subject::host || rule.effect == model::Effect::deny) return false;
    if (hosts.empty()) return rule.effect == model::Effect::allow && names_secret(rule, alias);
    return std::ranges::any_of(hosts, [&](const std::string& host) { return may_meet(rule.pattern, host); });
  });
}

bool host_takes_secrets(const model::Policy& policy, std::string_view host) {
  return std::ranges::any_of(policy, [&](const model::PolicyRule& rule) { return allows_secrets(rule, host); });
}

}  // namespace sluice::gates
