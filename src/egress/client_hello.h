// The first message of a TLS client, parsed without answering it, to see which host the client asks for. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::egress {

struct ClientHello {
  enum class Kind {
    incomplete,  // more must come
    hello,
    other,      // this is not TLS
    malformed,  // it begins as TLS does, but two parsers could understand the rest differently
  };
  Kind kind = Kind::incomplete;
  std::optional<std::string> server_name;  // of a hello that has one
};

// `bytes` are all that the client has sent so far.
ClientHello read_client_hello(std::string_view bytes);

// The reason why a tunnel to `host` at `port` must not carry a connection that begins so; empty if it may. `hello` must
// not be incomplete.
std::string fault_of(const ClientHello& hello, std::string_view host, bool is_address, int port);

}  // namespace sluice::egress
