// Addresses, and which of them a third party may not lead this server or a sandbox to: those that are ours, our
// network's or our cloud's. Pure.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct Address {
  std::array<uint8_t, 16> bytes{};  // the first four of an IPv4 address
  bool is_v6 = false;
  auto operator<=>(const Address&) const = default;

  std::string text() const;
};

// Dotted quads and IPv6 addresses in full; no other spelling.
std::optional<Address> parse_address(std::string_view text);
Address address_of(const sockaddr& socket_address);
// Gives the size that counts.
socklen_t fill_socket_address(const Address& address, int port, sockaddr_storage& out);

struct AddressRange {
  Address base;
  int bits = 0;
  bool holds(const Address& address) const;
};

// "10.0.0.0/8", "fd00::/8", or one address.
std::optional<AddressRange> parse_range(std::string_view text);

// What kind of address it is that must not be reached ("a private address"); empty: an ordinary one. An IPv4 address
// inside an IPv6 one (mapped, NAT64, 6to4) is judged as itself.
std::string_view why_forbidden(const Address& address);

}  // namespace sluice
