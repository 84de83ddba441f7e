#include "egress/head_parser.h"

#include <algorithm>
#include <array>

#include "base/addresses.h"
#include "egress/http_text.h"

namespace sluice::egress {
namespace {

constexpr std::array<std::string_view, 6> hop_by_hop = {"Connection", "Keep-Alive", "TE",
                                                        "Trailer",    "Upgrade",    "HTTP2-Settings"};
constexpr std::string_view proxys_own = "Proxy-";

Refusal malformed(std::string_view what) { return {400, "the request is malformed: " + std::string(what)}; }

// The next line, without its end. Empty optional: a CR or an LF stands alone.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || end == 0 || text[end - 1] != '\r') return std::nullopt;
  const std::string_view line = text.substr(0, end - 1);
  text.remove_prefix(end + 1);
  if (line.find('\r') != std::string_view::npos) return std::nullopt;
  return line;
}

std::optional<Refusal> parse_fields(std::string_view text, Fields& out) {
  for (;;) {
    const auto line = take_line(text);
    if (!line) return malformed("a line does not end with CR LF");
    if (line->empty()) return text.empty() ? std::nullopt : std::optional(malformed("bytes after its head"));
    if (line->front() == ' ' || line->front() == '\t') return malformed("a header field is folded over two lines");
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos) return malformed("a header field without a colon");
    const std::string_view name = line->substr(0, colon);
    if (!is_token(name)) return malformed("the name of a header field has a character that cannot be in one");
    const std::string_view value = trimmed(line->substr(colon + 1));
    if (!is_field_value(value)) return malformed("a header field has a control character");
    if (out.all().size() == field_count_max) return Refusal{431, "the request has too many header fields"};
    out.add(name, value);
  }
}

std::optional<int> parse_version(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  return std::nullopt;
}

// One label after the other: letters, digits, hyphens and the underscore that some names do have.
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

// Resolvers read "2130706433", "0x7f.1" and "127.1" as addresses: such a name is one that hides.
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

std::optional<Refusal> check_host(std::string_view host, bool in_brackets, Destination& out) {
  out.host = lower_case(host);
  if (in_brackets) {
    out.is_address = true;
    if (is_ipv6(out.host)) return std::nullopt;
    return malformed("what stands in brackets is no IPv6 address");
  }
  if (out.host.ends_with('.')) out.host.pop_back();
  if (!is_name(out.host)) return malformed("its host is no name");
  out.is_address = ends_in_number(out.host);
  if (out.is_address && !is_dotted_quad(out.host)) return malformed("its host is neither a name nor an address");
  return std::nullopt;
}

// Exactly one Host (or, of an old client, none), that names the same place.
std::optional<Refusal> check_host_field(const RequestHead& head, const Destination& to, int status) {
  const std::size_t count = head.fields.count("Host");
  if (count > 1) return malformed("more than one Host");
  if (count == 0) return head.minor_version == 0 ? std::nullopt : std::optional(malformed("no Host"));
  Destination named{.tls = to.tls};
  if (auto refusal = parse_authority(*head.fields.find("Host"), to.tls ? 443 : 80, named)) return refusal;
  if (named == to) return std::nullopt;
  return Refusal{status, "the Host field names another place than the request goes to (" + to.authority() + ")"};
}

void split_path(std::string_view rest, std::string_view method, Target& out) {
  const std::size_t mark = rest.find('?');
  out.path = rest.substr(0, mark);
  out.query = mark == std::string_view::npos ? "" : rest.substr(mark);
  if (out.path.empty()) out.path = method == "OPTIONS" && out.query.empty() ? "*" : "/";
}

}  // namespace

const std::string* Fields::find(std::string_view name) const {
  const auto at = std::find_if(all_.begin(), all_.end(), [&](const Field& f) { return same_word(f.name, name); });
  return at == all_.end() ? nullptr : &at->value;
}

std::size_t Fields::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [&](const Field& f) { return same_word(f.name, name); }));
}

bool Fields::lists(std::string_view name, std::string_view element) const {
  for (const Field& field : all_) {
    if (!same_word(field.name, name)) continue;
    for (const auto listed : list_of(field.value)) {
      if (same_word(listed, element)) return true;
    }
  }
  return false;
}

void Fields::remove(std::string_view name) {
  std::erase_if(all_, [&](const Field& f) { return same_word(f.name, name); });
}

void Fields::remove_hop_by_hop() {
  std::vector<std::string> listed;
  for (const Field& field : all_) {
    if (!same_word(field.name, "Connection") && !same_word(field.name, "Proxy-Connection")) continue;
    for (const auto name : list_of(field.value)) listed.emplace_back(name);
  }
  for (const auto& name : listed) remove(name);
  for (const auto name : hop_by_hop) remove(name);
  std::erase_if(all_, [](const Field& f) { return same_word(f.name.substr(0, proxys_own.size()), proxys_own); });
}

std::optional<std::size_t> head_size(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  return end + 4;
}

bool has_bare_line_feed(std::string_view bytes) {
  for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') return true;
  }
  return false;
}

std::optional<Refusal> parse_head(std::string_view text, RequestHead& out) {
  const auto line = take_line(text);
  if (!line) return malformed("a line does not end with CR LF");
  const std::size_t first = line->find(' ');
  const std::size_t last = line->rfind(' ');
  if (first == std::string_view::npos || first == last) return malformed("its first line has not three parts");
  out.method = line->substr(0, first);
  out.target = line->substr(first + 1, last - first - 1);
  if (!is_token(out.method)) return malformed("its method");
  if (!is_target(out.target))
    return malformed("its target has a character that cannot be in one (a fragment, a blank)");
  const auto version = parse_version(line->substr(last + 1));
  if (!version) return Refusal{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  out.minor_version = *version;
  return parse_fields(text, out.fields);
}

std::optional<Refusal> parse_head(std::string_view text, ResponseHead& out) {
  const auto line = take_line(text);
  if (!line || line->size() < 12) return malformed("the status line");
  const auto version = parse_version(line->substr(0, 8));
  const auto status = decimal(line->substr(9, 3));
  if (!version || line->at(8) != ' ' || !status || *status < 100 || *status > 599) return malformed("the status line");
  if (line->size() > 12 && line->at(12) != ' ') return malformed("the status line");
  out.minor_version = *version;
  out.status = static_cast<int>(*status);
  out.reason = line->size() > 13 ? line->substr(13) : "";
  if (!is_field_value(out.reason)) return malformed("the status line");
  return parse_fields(text, out.fields);
}

std::string Destination::authority() const {
  std::string out = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

std::optional<Refusal> parse_authority(std::string_view text, int default_port, Destination& out) {
  if (text.find('@') != std::string_view::npos) {
    return malformed("a user name in its address; send credentials in an Authorization header");
  }
  out.host.clear();
  std::string_view host = text;
  std::string_view port;
  const bool in_brackets = text.starts_with('[');
  if (in_brackets) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return malformed("a bracket that does not close");
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = colon == std::string_view::npos ? "" : text.substr(colon);
  }
  out.port = default_port;
  if (!port.empty()) {
    const auto number = port.front() == ':' ? decimal(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65'535) return malformed("its port");
    out.port = static_cast<int>(*number);
  }
  auto refusal = check_host(host, in_brackets, out);
  if (refusal) out.host.clear();
  return refusal;
}

std::optional<Refusal> parse_connect(const RequestHead& head, Destination& out) {
  out.tls = true;
  if (auto refusal = parse_authority(head.target, 0, out)) return refusal;
  if (out.port == 0) return malformed("CONNECT names no port");
  return std::nullopt;
}

std::optional<Refusal> parse_absolute(const RequestHead& head, Target& out) {
  constexpr std::string_view scheme = "http://";
  if (head.target.starts_with('/') || head.target == "*") {
    return Refusal{400, "this is a proxy: ask it for a whole URL (http://host/path), or with CONNECT host:port"};
  }
  if (!same_word(std::string_view(head.target).substr(0, scheme.size()), scheme)) {
    return Refusal{400, "only http:// URLs are fetched here; for https:// say CONNECT host:443 and speak TLS inside"};
  }
  const std::string_view rest = std::string_view(head.target).substr(scheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  if (auto refusal = parse_authority(rest.substr(0, end), 80, out.to)) return refusal;
  split_path(rest.substr(end), head.method, out);
  return check_host_field(head, out.to, 400);
}

std::optional<Refusal> parse_origin(const RequestHead& head, const Destination& to, Target& out) {
  if (!head.target.starts_with('/') && !(head.target == "*" && head.method == "OPTIONS")) {
    return malformed("inside a CONNECT its target must be a path");
  }
  out.to = to;
  split_path(head.target, head.method, out);
  return check_host_field(head, to, 421);
}

}  // namespace sluice::egress
