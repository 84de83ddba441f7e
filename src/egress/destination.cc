#include "egress/destination.h"

#include <algorithm>

#include "http/text.h"
#include "http/uri.h"

namespace sluice::egress {
namespace {

Refusal malformed(std::string_view what) { return {400, "the request is malformed: " + std::string(what)}; }

// Exactly one Host (or, of an old client, none), that names the same place.
std::optional<Refusal> check_host_field(const http::RequestHead& head, const Destination& to, int status) {
  const std::size_t count = head.headers.count("Host");
  if (count > 1) return malformed("more than one Host");
  if (count == 0) return head.minor_version == 0 ? std::nullopt : std::optional(malformed("no Host"));
  Destination named{.tls = to.tls};
  if (auto refusal = parse_authority(*head.headers.find("Host"), to.tls ? 443 : 80, named)) return refusal;
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

Refusal refusal_of(const http::Fault& fault) {
  switch (fault.kind) {
    case http::Fault::Kind::unreadable_version:
    case http::Fault::Kind::unknown_version: return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
    case http::Fault::Kind::long_line:
    case http::Fault::Kind::large_headers: return {431, "the head of the request is too long"};
    default: return malformed(fault.detail);
  }
}

std::string Destination::authority() const {
  std::string out = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

std::optional<Refusal> parse_authority(std::string_view text, int default_port, Destination& out) {
  http::Authority authority;
  const auto fault = http::parse_authority(text, default_port, authority);
  out.host = std::move(authority.host);
  out.port = authority.port;
  out.is_address = authority.is_address;
  return fault ? std::optional(malformed(fault->detail)) : std::nullopt;
}

std::optional<Refusal> parse_connect(const http::RequestHead& head, Destination& out) {
  out.tls = true;
  if (auto refusal = parse_authority(head.target, 0, out)) return refusal;
  if (out.port == 0) return malformed("CONNECT names no port");
  if (head.headers.count("Host") > 1) return malformed("more than one Host");
  return std::nullopt;
}

std::optional<Refusal> parse_absolute(const http::RequestHead& head, Target& out) {
  constexpr std::string_view scheme = "http://";
  if (head.target.starts_with('/') || head.target == "*") {
    return Refusal{400, "this is a proxy: ask it for a whole URL (http://host/path), or with CONNECT host:port"};
  }
  if (!http::same_word(std::string_view(head.target).substr(0, scheme.size()), scheme)) {
    return Refusal{400, "only http:// URLs are fetched here; for https:// say CONNECT host:443 and speak TLS inside"};
  }
  const std::string_view rest = std::string_view(head.target).substr(scheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  if (auto refusal = parse_authority(rest.substr(0, end), 80, out.to)) return refusal;
  split_path(rest.substr(end), head.method, out);
  return check_host_field(head, out.to, 400);
}

std::optional<Refusal> parse_origin(const http::RequestHead& head, const Destination& to, Target& out) {
  if (!head.target.starts_with('/') && !(head.target == "*" && head.method == "OPTIONS")) {
    return malformed("inside a CONNECT its target must be a path");
  }
  out.to = to;
  split_path(head.target, head.method, out);
  return check_host_field(head, to, 421);
}

}  // namespace sluice::egress
