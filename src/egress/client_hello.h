// The first words of a TLS client, read without answering them: which host it asks for. Pure.
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
    malformed,  // it begins as TLS does, and goes on in a way that two readers could understand differently
  };
  Kind kind = Kind::incomplete;
  std::optional<std::string> server_name;  // of a hello that has one
};

// `bytes` are all that the client has sent so far.
ClientHello read_client_hello(std::string_view bytes);

// Why a tunnel to `host` at `port` must not carry what begins so; empty: it may. Not to be asked of an incomplete one.
std::string fault_of(const ClientHello& hello, std::string_view host, bool is_address, int port);

}  // namespace sluice::egress
