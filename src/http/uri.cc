#include "http/uri.h"

#include <algorithm>

#include "base/addresses.h"
#include "http/text.h"

namespace sluice::http {
namespace {

// Labels of letters, digits, hyphens and the underscore that some names do have.
bool is_name(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  std::size_t label = 0;
  for (const char c : host) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (c == '.' ? label == 0 : !fits || label == 63) return false;
    label = c == '.' ? 0 : label + 1;
  }
  return label > 0;
}

// Resolvers read "2130706433", "0x7f.1" and "127.1" as addresses.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  if (last.starts_with("0x")) return true;
  return std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_dotted_quad(std::string_view host) {
  int parts = 0;
  while (true) {
    const std::size_t dot = host.find('.');
    const std::string_view part = host.substr(0, dot);
    const auto number = decimal(part);
    if (!number || *number > 255 || (part.size() > 1 && part.front() == '0')) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts == 4;
    host.remove_prefix(dot + 1);
  }
}

bool is_ipv6(std::string_view host) {
  const auto address = parse_address(host);
  return address && address->is_v6;
}

std::optional<Fault> read_host(std::string_view host, bool in_brackets, Authority& out) {
  out.host = lower_case(host);
  if (in_brackets) {
    out.is_address = true;
    if (is_ipv6(out.host)) return std::nullopt;
    return Fault{.detail = "what stands in brackets is no IPv6 address"};
  }
  if (out.host.ends_with('.')) out.host.pop_back();
  if (!is_name(out.host)) return Fault{.detail = "its host is no name"};
  out.is_address = ends_in_number(out.host);
  if (!out.is_address || is_dotted_quad(out.host)) return std::nullopt;
  return Fault{.detail = "its host is neither a name nor an address"};
}

std::optional<Fault> read_port(std::string_view text, int default_port, Authority& out) {
  out.port = default_port;
  if (text.empty()) return std::nullopt;
  const auto number = text.front() == ':' ? decimal(text.substr(1)) : std::nullopt;
  if (!number || *number < 1 || *number > 65'535) return Fault{.detail = "its port"};
  out.port = static_cast<int>(*number);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high << 4 | low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out += c;
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto decode = [](std::string_view text) {
    std::string spaced(text);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    return percent_decode(spaced);
  };
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode(pair.substr(0, equals));
    auto value = decode(pair.substr(std::min(pair.size(), equals + 1)));
    if (!name || !value) return std::nullopt;
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

std::optional<Fault> parse_authority(std::string_view text, int default_port, Authority& out) {
  out = {};
  if (text.find('@') != std::string_view::npos) {
    return Fault{.detail = "a user name in its address; send credentials in an Authorization header"};
  }
  const bool in_brackets = text.starts_with('[');
  const std::size_t bracket = text.find(']');
  if (in_brackets && bracket == std::string_view::npos) return Fault{.detail = "a bracket that does not close"};
  const std::size_t host_end = in_brackets ? bracket + 1 : std::min(text.find(':'), text.size());
  const std::string_view host = in_brackets ? text.substr(1, bracket - 1) : text.substr(0, host_end);
  auto fault = read_port(text.substr(host_end), default_port, out);
  if (!fault) fault = read_host(host, in_brackets, out);
  if (fault) out.host.clear();
  return fault;
}

}  // namespace sluice::http
