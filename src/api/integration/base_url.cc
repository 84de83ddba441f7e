#include "api/integration/base_url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace sluice::api::integration {
namespace {

constexpr std::string_view letters_and_digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool only(std::string_view text, std::string_view chars, std::string_view more_chars) {
  return std::ranges::all_of(text, [&](char c) {
    return chars.find(c) != std::string_view::npos || more_chars.find(c) != std::string_view::npos;
  });
}

// A name, an IPv4 address, or an IPv6 address in brackets.
bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    return !host.empty() && only(host, "0123456789abcdefABCDEF", ":.");
  }
  return !host.empty() && only(host, letters_and_digits, "-._");
}

// ":8080", or nothing.
bool is_port(std::string_view text) {
  if (text.empty()) return true;
  if (text.front() != ':') return false;
  text.remove_prefix(1);
  uint16_t port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failed == std::errc{} && end == text.data() + text.size() && port > 0;
}

}  // namespace

std::string_view fault_of_base_url(std::string_view url) {
  if (!std::ranges::all_of(url, [](char c) { return c > ' ' && c <= '~' && c != '\\'; })) {
    return "must be visible ASCII characters, without spaces or backslashes";
  }
  if (url.starts_with("https://")) {
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    url.remove_prefix(7);
  } else {
    return "must begin with https:// or http://";
  }
  if (url.find_first_of("?#") != std::string_view::npos) return "must not have a query or a fragment";
  const std::string_view authority = url.substr(0, url.find('/'));
  if (authority.find('@') != std::string_view::npos) return "must not have a user or a password in it";
  const std::size_t bracket = authority.starts_with('[') ? std::min(authority.find(']'), authority.size()) : 0;
  const std::size_t host_size = std::min(authority.find(':', bracket), authority.size());
  if (!is_host(authority.substr(0, host_size))) return "must name a host";
  if (!is_port(authority.substr(host_size))) return "must have a port from 1 to 65535, or none";
  return {};
}

}  // namespace sluice::api::integration
