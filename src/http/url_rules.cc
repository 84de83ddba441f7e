#include "http/url_rules.h"

#include <algorithm>
#include <optional>

#include "http/text.h"
#include "http/uri.h"

namespace sluice::http {
namespace {

constexpr std::string_view everything = "*";

struct Url {
  std::string scheme;
  Authority at;
  bool ends_in_dot = false;  // the name is complete: no resolver appends a domain to it
  std::string path;          // without a slash at its end
};

// Characters that two readers of one URL may understand in two ways: "http://allowed\@other", "?", "#",
// or an escape that another decodes into a slash or a dot.
bool is_doubtful(std::string_view url) {
  return std::ranges::any_of(url, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7F ||
           std::string_view("\\@?#%").find(c) != std::string_view::npos;
  });
}

bool has_dot_segment(std::string_view path) {
  return (std::string(path) + "/").find("/../") != std::string::npos ||
         (std::string(path) + "/").find("/./") != std::string::npos;
}

std::optional<Url> parse_url(std::string_view text) {
  if (is_doubtful(text)) return std::nullopt;
  Url url;
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  url.scheme = lower_case(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
  text.remove_prefix(colon + 3);
  const auto slash = std::min(text.find('/'), text.size());
  const auto authority = text.substr(0, slash);
  url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (has_dot_segment(url.path)) return std::nullopt;

  if (parse_authority(authority, url.scheme == "https" ? 443 : 80, url.at)) return std::nullopt;
  url.ends_in_dot = authority.substr(0, authority.find(':')).ends_with('.');
  return url;
}

bool begins_with(const Url& url, const Url& rule) {
  if (url.scheme != rule.scheme || url.at.host != rule.at.host || url.at.port != rule.at.port) return false;
  if (url.ends_in_dot != rule.ends_in_dot) return false;
  return url.path == rule.path || url.path.starts_with(rule.path + "/");
}

}  // namespace

Reach reach_of(std::string_view url, std::span<const std::string> rules) {
  const auto wanted = parse_url(url);
  const bool is_named = wanted && std::ranges::any_of(rules, [&](const std::string& text) {
                          const auto rule = parse_url(text);
                          return rule && begins_with(*wanted, *rule);
                        });
  if (is_named) return Reach::anywhere;
  const bool is_open = std::ranges::find(rules, everything) != rules.end();
  return is_open ? Reach::public_addresses : Reach::nowhere;
}

bool is_allowed(std::string_view url, std::span<const std::string> rules) {
  return reach_of(url, rules) != Reach::nowhere;
}

bool is_plain_url(std::string_view url) { return parse_url(url).has_value(); }

bool is_url_rule(std::string_view rule) { return rule == everything || is_plain_url(rule); }

}  // namespace sluice::http
