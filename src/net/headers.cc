#include <strings.h>

#include <algorithm>

#include "net/net.h"

namespace sluice::net {
namespace {

constexpr std::string_view token_chars =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
constexpr std::string_view own_names[] = {
    "accept",         "connection",        "content-length", "content-type",         "expect",         "host",
    "http2-settings", "keep-alive",        "last-event-id",  "mcp-protocol-version", "mcp-session-id", "te",
    "trailer",        "transfer-encoding", "upgrade"};
constexpr std::string_view own_prefix = "proxy-";

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_named(const Header& field, std::string_view name) { return is_same(field.name, name); }

}  // namespace

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (is_named(field, name)) return field.value;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(), [&](const Header& field) { return is_named(field, name); }));
}

std::string_view fault_of_header(std::string_view name, std::string_view value) {
  if (name.empty() || name.find_first_not_of(token_chars) != std::string_view::npos) {
    return "is no name of an HTTP header";
  }
  const auto is_it = [&](std::string_view own) { return is_same(name, own); };
  if (std::ranges::any_of(own_names, is_it) || is_same(name.substr(0, own_prefix.size()), own_prefix)) {
    return "is set by the server itself";
  }
  if (std::ranges::any_of(value, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; })) {
    return "has a line break or another control character in its value";
  }
  return {};
}

}  // namespace sluice::net
