#include "egress/client_hello.h"

#include <cstdint>

#include "gates/gates.h"

namespace sluice::egress {
namespace {

constexpr char handshake_record = 22;
constexpr char client_hello_message = 1;
constexpr std::size_t record_head_bytes = 5;
constexpr std::size_t message_head_bytes = 4;
constexpr std::size_t record_bytes_max = 16 * 1024;
constexpr std::size_t hello_bytes_max = 64 * 1024;
constexpr std::size_t server_name_extension = 0;
constexpr std::size_t random_bytes = 32;
constexpr int http_port = 80;
constexpr int https_port = 443;

using Kind = ClientHello::Kind;

std::size_t number(std::string_view bytes) {
  std::size_t out = 0;
  for (const char byte : bytes) out = out << 8 | static_cast<uint8_t>(byte);
  return out;
}

// Reads from the front; once something is missing everything is.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      is_short_ = true;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  // A vector whose length stands before it, in so many bytes.
  std::string_view vector(std::size_t length_bytes) { return take(number(take(length_bytes))); }
  bool is_short() const { return is_short_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

// The handshake message, out of as many records as it is in. Empty while it is incomplete.
std::optional<std::string> message_of(std::string_view bytes, Kind& kind) {
  std::string message;
  kind = Kind::incomplete;
  while (!bytes.empty()) {
    if (bytes.front() != handshake_record) return kind = Kind::malformed, std::nullopt;
    if (bytes.size() < record_head_bytes) return std::nullopt;
    const auto size = number(bytes.substr(3, 2));
    if (bytes[1] != 3 || size == 0 || size > record_bytes_max) return kind = Kind::malformed, std::nullopt;
    const auto whole = bytes.size() >= record_head_bytes + size;
    message += bytes.substr(record_head_bytes, size);
    if (!message.empty() && message.front() != client_hello_message) return kind = Kind::malformed, std::nullopt;
    if (message.size() >= message_head_bytes) {
      const auto wanted = message_head_bytes + number(std::string_view(message).substr(1, 3));
      if (wanted > hello_bytes_max) return kind = Kind::malformed, std::nullopt;
      if (message.size() >= wanted) return message.substr(message_head_bytes, wanted - message_head_bytes);
    }
    if (!whole) return std::nullopt;
    bytes.remove_prefix(record_head_bytes + size);
  }
  return std::nullopt;
}

// False: it is malformed.
bool read_server_name(std::string_view extension, ClientHello& out) {
  Reader reader(extension);
  Reader names(reader.vector(2));
  const auto type = names.take(1);
  const auto name = names.vector(2);
  // No client sends more than one name, or another kind of name.
  if (names.is_short() || reader.is_short() || !names.at_end() || !reader.at_end() || number(type) != 0) return false;
  if (out.server_name) return false;
  out.server_name = std::string(name);
  return true;
}

bool read_body(std::string_view body, ClientHello& out) {
  Reader reader(body);
  reader.take(2 + random_bytes);
  reader.vector(1);  // session
  reader.vector(2);  // ciphers
  reader.vector(1);  // compression
  if (reader.is_short()) return false;
  if (reader.at_end()) return true;  // of an old client, without extensions
  Reader extensions(reader.vector(2));
  if (reader.is_short() || !reader.at_end()) return false;
  while (!extensions.at_end()) {
    const auto type = extensions.take(2);
    const auto extension = extensions.vector(2);
    if (extensions.is_short()) return false;
    if (number(type) == server_name_extension && !read_server_name(extension, out)) return false;
  }
  return true;
}

}  // namespace

ClientHello read_client_hello(std::string_view bytes) {
  ClientHello out;
  if (bytes.empty()) return out;
  if (bytes.front() != handshake_record || (bytes.size() > 1 && bytes[1] != 3)) {
    out.kind = Kind::other;
    return out;
  }
  const auto message = message_of(bytes, out.kind);
  if (message) out.kind = read_body(*message, out) ? Kind::hello : Kind::malformed;
  return out;
}

std::string fault_of(const ClientHello& hello, std::string_view host, bool is_address, int port) {
  const std::string to(host);
  switch (hello.kind) {
    case Kind::incomplete: return {};
    case Kind::malformed: return "the TLS handshake through the tunnel to " + to + " is malformed";
    case Kind::other:
      if (port == https_port) return "what goes through the tunnel to " + to + " is not TLS";
      if (port == http_port) return "plain requests to " + to + " go to the proxy itself, not through a tunnel";
      return {};
    case Kind::hello: break;
  }
  if (!hello.server_name && is_address) return {};
  if (!hello.server_name) return "the TLS handshake through the tunnel to " + to + " names no host (SNI)";
  if (gates::normal_host(*hello.server_name) == to) return {};
  return "the TLS handshake through the tunnel to " + to + " asks for another host";
}

}  // namespace sluice::egress
