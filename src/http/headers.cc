#include "http/headers.h"

#include <algorithm>
#include <array>

#include "http/text.h"

namespace sluice::http {
namespace {

constexpr std::string_view own_names[] = {
    "accept",         "connection",        "content-length", "content-type",         "expect",         "host",
    "http2-settings", "last-event-id",     "keep-alive",     "mcp-protocol-version", "mcp-session-id", "te",
    "trailer",        "transfer-encoding", "upgrade"};
constexpr std::array<std::string_view, 6> hop_by_hop = {"Connection", "Keep-Alive", "TE",
                                                        "Trailer",    "Upgrade",    "HTTP2-Settings"};
constexpr std::size_t usual_count = 8;
constexpr std::string_view proxy_prefix = "Proxy-";

bool is_for_proxies(std::string_view name) { return same_word(name.substr(0, proxy_prefix.size()), proxy_prefix); }

}  // namespace

void Headers::add(std::string_view name, std::string_view value) {
  if (fields_.empty()) fields_.reserve(usual_count);
  fields_.push_back({std::string(name), std::string(value)});
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (same_word(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields_, [&](const Header& field) { return same_word(field.name, name); }));
}

std::size_t Headers::count(std::string_view name, std::string_view& last) const {
  std::size_t count = 0;
  for (const auto& field : fields_) {
    if (!same_word(field.name, name)) continue;
    last = field.value;
    ++count;
  }
  return count;
}

bool Headers::lists(std::string_view name, std::string_view element) const {
  for (const Header& field : fields_) {
    if (!same_word(field.name, name)) continue;
    for (std::string_view rest = field.value; !rest.empty();) {
      if (same_word(take_element(rest), element)) return true;
    }
  }
  return false;
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Header& field) { return same_word(field.name, name); });
}

void Headers::remove_hop_by_hop() {
  std::vector<std::string> listed;
  for (const Header& field : fields_) {
    if (!same_word(field.name, "Connection") && !same_word(field.name, "Proxy-Connection")) continue;
    for (const auto name : list_of(field.value)) listed.emplace_back(name);
  }
  for (const auto& name : listed) remove(name);
  for (const auto name : hop_by_hop) remove(name);
  std::erase_if(fields_, [](const Header& field) { return is_for_proxies(field.name); });
}

std::string_view fault_of_header(std::string_view name, std::string_view value) {
  if (!is_token(name)) return "is no name of an HTTP header";
  const auto is_it = [&](std::string_view own) { return same_word(name, own); };
  if (std::ranges::any_of(own_names, is_it) || is_for_proxies(name)) return "is set by the server itself";
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };  // stricter than HTTP: no tab
  if (std::ranges::any_of(value, is_control)) return "has a line break or another control character in its value";
  return {};
}

}  // namespace sluice::http
