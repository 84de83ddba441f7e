// SOCKS 5 (RFC 1928), as far as a client without a name needs it: a greeting, then one request to connect. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::egress {

enum class SocksReply : uint8_t { done = 0, failed = 1, not_allowed = 2, unreachable = 4, no_such_command = 7 };

struct SocksRead {
  enum class Kind : uint8_t { incomplete, malformed, whole };
  Kind kind = Kind::incomplete;
  std::size_t size = 0;  // of what was read, when it is whole
  // Of a request.
  uint8_t command = 0;
  std::string host;  // a name in lower case without a dot at its end, or an address without brackets
  int port = 0;
};

inline constexpr uint8_t socks_connect = 1;
inline constexpr std::size_t socks_bytes_max = 4 + 1 + 255 + 2;  // of a greeting or a request

// Whole when the client offers to come without a name and password.
SocksRead read_socks_greeting(std::string_view bytes);
SocksRead read_socks_request(std::string_view bytes);

std::string socks_welcome();
std::string socks_answer(SocksReply reply);

}  // namespace sluice::egress
