// Where a request from a sandbox wants to go, and what it is answered if nobody can tell without doubt. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/head.h"

namespace sluice::egress {

// Of requests from sandboxes, and of answers.
inline constexpr http::HeadLimits head_limits{
    .line_bytes_max = 64 * 1024, .header_bytes_max = 64 * 1024, .header_count_max = 200, .head_bytes_max = 64 * 1024};

// What the sandbox is answered instead.
struct Refusal {
  int status = 400;
  std::string words;
};

// Of a request whose head cannot be accepted.
Refusal refusal_of(const http::Fault& fault);

// Which addresses a name may lead to.
enum class Reach : uint8_t {
  sandbox,      // what a sandbox may reach: public ones, and those that the operator opened
  public_only,  // chosen by a tenant for the server: public ones
  anywhere,     // chosen by the operator
};

struct Destination {
  std::string host;  // lower case, no brackets, no dot at its end
  int port = 0;
  bool tls = false;
  bool is_address = false;  // a literal one
  Reach reach = Reach::sandbox;
  bool is_house = false;  // our own server, which has a certificate of its own
  bool operator==(const Destination&) const = default;

  // As a Host field has it: with the port unless it is the scheme's own.
  std::string authority() const;
};

struct Target {
  Destination to;
  std::string path;   // at least "/", or "*"
  std::string query;  // with its '?', or empty
};

// As http::parse_authority() does.
std::optional<Refusal> parse_authority(std::string_view text, int default_port, Destination& out);
// Of CONNECT: the port must be there.
std::optional<Refusal> parse_connect(const http::RequestHead& head, Destination& out);
// Of any other request to a proxy, with its Host field, which must say the same.
std::optional<Refusal> parse_absolute(const http::RequestHead& head, Target& out);
// Of a request inside a connection to `to`.
std::optional<Refusal> parse_origin(const http::RequestHead& head, const Destination& to, Target& out);

}  // namespace sluice::egress
