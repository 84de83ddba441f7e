#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "net/net.h"

namespace sluice::net {
namespace {

constexpr std::string_view everything = "*";

struct Url {
  std::string scheme;
  std::string host;
  uint16_t port = 0;
  std::string path;  // without a slash at its end
};

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return out;
}

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

// A name with no empty label, or an address; nothing that a resolver or another reader could take for something else.
bool is_host(std::string_view host) {
  const bool is_address = host.starts_with('[');
  if (is_address) host = host.substr(1, host.size() - 2);  // parse() saw the other bracket
  if (host.empty() || host.starts_with('.') || host.find("..") != std::string_view::npos) return false;
  return std::ranges::all_of(host, [&](char c) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_address) return is_digit || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
    return is_digit || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
  });
}

std::optional<uint16_t> port_of(std::string_view text, std::string_view scheme) {
  if (text.empty()) return scheme == "https" ? 443 : 80;
  uint16_t port = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 1, end, port);  // after the colon
  if (text.front() != ':' || read.ec != std::errc() || read.ptr != end || port == 0) return std::nullopt;
  return port;
}

std::optional<Url> parse(std::string_view text) {
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

  const auto bracket = authority.find(']');
  const auto host_end = authority.starts_with('[') ? (bracket == std::string_view::npos ? 0 : bracket + 1)
                                                   : std::min(authority.find(':'), authority.size());
  url.host = lower_case(authority.substr(0, host_end));
  const auto port = port_of(authority.substr(host_end), url.scheme);
  if (!is_host(url.host) || !port) return std::nullopt;
  url.port = *port;
  return url;
}

bool begins_with(const Url& url, const Url& rule) {
  if (url.scheme != rule.scheme || url.host != rule.host || url.port != rule.port) return false;
  return url.path == rule.path || url.path.starts_with(rule.path + "/");
}

}  // namespace

Reach reach_of(std::string_view url, std::span<const std::string> rules) {
  const auto wanted = parse(url);
  const bool is_named = wanted && std::ranges::any_of(rules, [&](const std::string& text) {
                          const auto rule = parse(text);
                          return rule && begins_with(*wanted, *rule);
                        });
  if (is_named) return Reach::anywhere;
  const bool is_open = std::ranges::find(rules, everything) != rules.end();
  return is_open ? Reach::public_addresses : Reach::nowhere;
}

bool is_allowed(std::string_view url, std::span<const std::string> rules) {
  return reach_of(url, rules) != Reach::nowhere;
}

bool is_plain_url(std::string_view url) { return parse(url).has_value(); }

bool is_url_rule(std::string_view rule) { return rule == everything || is_plain_url(rule); }

}  // namespace sluice::net
