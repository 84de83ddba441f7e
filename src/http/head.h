// Heads of messages, read by the same rules in the server and in the egress proxy: what two readers could
// understand differently is refused, because the other reader may be the next hop. Pure: no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "http/headers.h"

namespace sluice::http {

// Why a message is not accepted. Each reader has a status of its own for it.
struct Fault {
  enum class Kind : uint8_t {
    malformed,
    unreadable_version,  // what stands at the end of the request line is no version of HTTP
    unknown_version,     // neither HTTP/1.0 nor HTTP/1.1
    long_line,           // the request line
    large_headers,
    unknown_coding,  // Transfer-Encoding
    large_body,
  };
  Kind kind = Kind::malformed;
  std::string_view detail;  // a literal; follows a name, or stands alone
};

struct HeadLimits {
  std::size_t line_bytes_max = limits::request_line_bytes_max;
  std::size_t header_bytes_max = limits::header_bytes_max;  // field lines without their ends; trailers count too
  std::size_t header_count_max = limits::header_count_max;
  std::size_t head_bytes_max = SIZE_MAX;  // all lines with their ends
};

struct MessageHead {
  int minor_version = 1;
  Headers headers;

  // Whether the sender lets the connection be used again after this message.
  bool keeps_connection() const;
};

struct RequestHead : MessageHead {
  std::string method;
  std::string target;
};

struct ResponseHead : MessageHead {
  int status = 0;
  std::string reason;
};

// Counts header fields against their limits, whatever is in them.
class HeaderTally final {
 public:
  std::optional<Fault> count(std::size_t bytes, const HeadLimits& limits);
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
};

std::optional<Fault> check_field(std::string_view name, std::string_view value);
// For a request that came without a request line, which has been checked otherwise.
std::optional<Fault> check_request(std::string_view method, std::string_view target);

// Reads a request line or a status line, without its end.
std::optional<Fault> read_first_line(std::string_view line, RequestHead& out);
std::optional<Fault> read_first_line(std::string_view line, ResponseHead& out);

}  // namespace sluice::http
