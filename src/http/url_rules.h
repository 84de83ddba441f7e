// Where others may have this server send requests. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::http {

enum class Reach : uint8_t {
  nowhere,
  public_addresses,  // neither this machine nor its network
  anywhere,
};
// Anywhere, if `url` begins with one of `rules`: the same scheme, host and port, and a path that begins with the
// rule's, whole segment by whole segment. What only the rule "*" allows reaches public addresses. What cannot be read
// without doubt begins with no rule.
Reach reach_of(std::string_view url, std::span<const std::string> rules);
bool is_allowed(std::string_view url, std::span<const std::string> rules);
bool is_url_rule(std::string_view rule);
// http or https, a host, perhaps a port and a path, and nothing that two readers could understand in
// two ways: no credentials, query, fragment, escapes, dot segments or control characters.
bool is_plain_url(std::string_view url);

}  // namespace sluice::http
