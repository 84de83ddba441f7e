#include "egress/socks.h"

#include <algorithm>

#include "base/addresses.h"
#include "http/text.h"

namespace sluice::egress {
namespace {

constexpr uint8_t version = 5;
constexpr char no_authentication = 0;
constexpr std::size_t request_head_bytes = 4;
constexpr std::size_t port_bytes = 2;

enum AddressKind : uint8_t { kind_v4 = 1, kind_name = 3, kind_v6 = 4 };

uint8_t byte_at(std::string_view bytes, std::size_t index) { return static_cast<uint8_t>(bytes[index]); }

SocksRead malformed() { return {.kind = SocksRead::Kind::malformed}; }

std::string address_text(std::string_view bytes) {
  Address address{.is_v6 = bytes.size() == 16};
  std::ranges::transform(bytes, address.bytes.begin(), [](char c) { return static_cast<uint8_t>(c); });
  return address.text();
}

std::string name_text(std::string_view bytes) {
  auto name = http::lower_case(bytes);
  if (name.ends_with('.')) name.pop_back();
  const auto address = parse_address(name);  // some clients send one as if it were a name
  return address ? address->text() : name;
}

}  // namespace

SocksRead read_socks_greeting(std::string_view bytes) {
  if (!bytes.empty() && byte_at(bytes, 0) != version) return malformed();
  if (bytes.size() < 2) return {};
  const std::size_t size = 2 + std::size_t{byte_at(bytes, 1)};
  if (bytes.size() < size) return {};
  const bool offers = bytes.substr(2, size - 2).find(no_authentication) != std::string_view::npos;
  return offers ? SocksRead{.kind = SocksRead::Kind::whole, .size = size} : malformed();
}

SocksRead read_socks_request(std::string_view bytes) {
  if (!bytes.empty() && byte_at(bytes, 0) != version) return malformed();
  if (bytes.size() <= request_head_bytes) return {};
  const uint8_t kind = byte_at(bytes, 3);
  std::size_t at = request_head_bytes;
  std::size_t length = kind == kind_v4 ? 4 : 16;
  if (kind == kind_name) length = byte_at(bytes, at++);
  if ((kind != kind_v4 && kind != kind_name && kind != kind_v6) || length == 0) return malformed();
  if (bytes.size() < at + length + port_bytes) return {};
  const auto host = bytes.substr(at, length);
  at += length;
  return {.kind = SocksRead::Kind::whole,
          .size = at + port_bytes,
          .command = byte_at(bytes, 1),
          .host = kind == kind_name ? name_text(host) : address_text(host),
          .port = byte_at(bytes, at) << 8 | byte_at(bytes, at + 1)};
}

std::string socks_welcome() { return {static_cast<char>(version), no_authentication}; }

// The address of ours that the connection comes from is not disclosed: 0.0.0.0:0.
std::string socks_answer(SocksReply reply) {
  std::string answer = {static_cast<char>(version), static_cast<char>(reply), 0, static_cast<char>(kind_v4)};
  answer.append(4 + port_bytes, '\0');
  return answer;
}

}  // namespace sluice::egress
