// The destination of a request from a sandbox, and the refusal if it is not unambiguous. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/head.h"

namespace sluice::egress {

// Limits for requests from sandboxes and for responses.
inline constexpr http::HeadLimits head_limits{
    .line_bytes_max = 64 * 1024, .header_bytes_max = 64 * 1024, .header_count_max = 200, .head_bytes_max = 64 * 1024};

// The response of the proxy instead.
struct Refusal {
  int status = 400;
  std::string words;
};

// The refusal of a request whose head is malformed.
Refusal refusal_of(const http::Fault& fault);

// Which addresses a name may resolve to.
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
  bool is_own_server = false;  // our own server, which has a certificate of its own
  bool operator==(const Destination&) const = default;

  // The value of a Host field: with the port unless it is the scheme's default.
  std::string authority() const;
};

struct Target {
  Destination to;
  std::string path;   // at least "/", or "*"
  std::string query;  // with its '?', or empty
};

// As http::parse_authority() does.
std::optional<Refusal> parse_authority(std::string_view text, int default_port, Destination& out);
// For CONNECT, whose target must have a port.
std::optional<Refusal> parse_connect(const http::RequestHead& head, Destination& out);
// For other requests to a proxy; the Host field must agree with the target.
std::optional<Refusal> parse_absolute(const http::RequestHead& head, Target& out);
// For a request inside a decrypted connection to `to`.
std::optional<Refusal> parse_origin(const http::RequestHead& head, const Destination& to, Target& out);

}  // namespace sluice::egress
