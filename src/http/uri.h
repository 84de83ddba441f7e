// The parts of URIs (RFC 3986): escapes, queries and authorities, read strictly. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/head.h"

namespace sluice::http {

// Percent-decoding; empty when malformed or when NUL comes out. '+' stays '+'.
std::optional<std::string> percent_decode(std::string_view text);
// The parameters of a query string, decoded ('+' is a space here); empty when malformed.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

// A host and a port.
struct Authority {
  std::string host;  // lower case, no brackets, no dot at its end
  int port = 0;
  bool is_address = false;  // a literal one
};

// "host", "host:port", "[::1]:port". A host is a name or an address in its usual spelling: resolvers read "127.1" and
// "0x7f000001" as addresses too, and a name that does not look like an address would hide where it leads.
std::optional<Fault> parse_authority(std::string_view text, int default_port, Authority& out);

}  // namespace sluice::http
