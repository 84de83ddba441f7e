// Rulings on tools, files and hosts, and what a rule must be. Commands have their own source.
#include <algorithm>

#include "gates/gates.h"
#include "gates/glob.h"

namespace sluice::gates {
namespace {

using model::Effect;
using model::Subject;

constexpr std::size_t pattern_bytes_max = 255;
constexpr int https_port = 443;
constexpr int http_port = 80;
constexpr std::string_view workspace = "/workspace/";  // where a box begins to work

template <typename Matches>
Ruling strictest(const model::Policy& policy, Subject subject, Effect otherwise, Matches matches) {
  const model::PolicyRule* strictest = nullptr;
  Steps steps;
  bool has_strict_rules = false;
  for (const auto& rule : policy) {
    if (rule.subject != subject) continue;
    has_strict_rules = has_strict_rules || rule.effect != Effect::allow;
    if (strictest && rule.effect <= strictest->effect) continue;
    if (matches(rule.pattern, steps)) strictest = &rule;
  }
  if (steps.exhausted() && has_strict_rules && (!strictest || strictest->effect != Effect::deny)) {
    return {Effect::ask, "This name is too long to be compared with all rules.", ""};
  }
  if (!strictest) return {otherwise, "", ""};
  return {strictest->effect, strictest->reason, strictest->pattern};
}

std::string absolute(std::string_view path) {
  std::string out;
  std::string whole = path.starts_with('/') ? "" : std::string(workspace);
  whole += path;
  for (std::size_t from = 0; from < whole.size();) {
    const auto end = std::min(whole.find('/', from), whole.size());
    const auto part = std::string_view(whole).substr(from, end - from);
    from = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out.erase(out.empty() ? 0 : out.rfind('/'));
    } else {
      (out += '/') += part;
    }
  }
  return out.empty() ? "/" : out;
}

Error invalid(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

Result<Unit> check_host(std::string_view pattern) {
  if (pattern == "*") return Unit{};
  if (pattern.find('/') != std::string_view::npos) {
    return invalid("a host's pattern is a name, without a scheme and without a path: \"api.example.com\"");
  }
  const bool is_wildcard = pattern.starts_with("*.");
  const auto name = is_wildcard ? pattern.substr(2) : pattern;
  if (name.find('*') != std::string_view::npos) {
    return invalid("a host's pattern has its * first and a dot after it, \"*.example.com\", or is * alone");
  }
  const auto host = normal_host(name);
  if (!host && std::ranges::count(name, ':') == 1) return invalid("a host's pattern has no port; name it in `ports`");
  if (!host) {
    return invalid("a host's pattern is a name or an address; write an international name as its xn-- form");
  }
  const bool is_address =
      host->find(':') != std::string::npos ||
      (host->back() >= '0' && host->back() <= '9' && host->find_first_not_of("0123456789.") == std::string::npos);
  if (is_wildcard && is_address) return invalid("an address has no names below it; leave out the *.");
  return Unit{};
}

}  // namespace

Ruling rule_on_tool(const model::Policy& policy, std::string_view tool) {
  return strictest(policy, Subject::tool, Effect::allow,
                   [&](std::string_view pattern, Steps& steps) { return glob_matches(pattern, tool, steps); });
}

Ruling rule_on_file(const model::Policy& policy, std::string_view path) {
  const auto whole = absolute(path);
  return strictest(policy, Subject::file, Effect::allow, [&](std::string_view pattern, Steps& steps) {
    if (pattern.starts_with('/') || pattern.starts_with('*')) return glob_matches(pattern, whole, steps);
    return glob_matches(absolute(pattern), whole, steps);
  });
}

Ruling rule_on_host(const model::Policy& policy, std::string_view host) {
  if (!normal_host(host)) return {Effect::deny, "This is no name and no address of a host.", ""};
  return strictest(policy, Subject::host, Effect::deny,
                   [&](std::string_view pattern, Steps&) { return host_matches(pattern, host); });
}

bool may_reach_port(const model::Policy& policy, std::string_view host, int port) {
  return port == https_port || port == http_port || std::ranges::any_of(policy, [&](const model::PolicyRule& rule) {
           return rule.subject == Subject::host && rule.effect != Effect::deny &&
                  std::ranges::find(rule.ports, port) != rule.ports.end() && host_matches(rule.pattern, host);
         });
}

Result<Unit> check_rule(const model::PolicyRule& rule) {
  const auto& pattern = rule.pattern;
  if (pattern.empty()) return invalid("a rule's pattern is empty; * stands for anything");
  if (pattern.size() > pattern_bytes_max) {
    return invalid("a rule's pattern has at most " + std::to_string(pattern_bytes_max) + " bytes");
  }
  if (std::ranges::any_of(pattern, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return invalid("a rule's pattern contains a control character");
  }
  if (rule.subject == Subject::host) {
    if (auto checked = check_host(pattern); !checked) return checked;
  }
  if (!rule.ports.empty() && (rule.subject != Subject::host || rule.effect == Effect::deny)) {
    return invalid("only a rule that allows a host, or asks about one, names ports");
  }
  if (rule.secrets.empty()) return Unit{};
  if (rule.subject != Subject::host || rule.effect != Effect::allow) {
    return invalid("only a rule that allows a host names secrets");
  }
  for (const auto& alias : rule.secrets) {
    if (alias != "*" && !model::is_alias(alias)) {
      return invalid("a rule names secrets by their aliases (A-Z, 0-9, _; a letter first; at most 64), or * for all");
    }
  }
  return Unit{};
}

}  // namespace sluice::gates
