#include "base/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice {
namespace {

struct Forbidden {
  std::array<uint8_t, 16> base;
  int bits;
  std::string_view what;
};

constexpr Forbidden forbidden_v4[] = {
    {{0}, 8, "an address of this network"},
    {{10}, 8, "a private address"},
    {{100, 64}, 10, "a carrier's private address"},
    {{127}, 8, "a loopback address"},
    {{168, 63, 129, 16}, 32, "the address of Azure's own services"},
    {{169, 254}, 16, "a link-local address (where clouds keep their metadata)"},
    {{172, 16}, 12, "a private address"},
    {{192, 0, 0}, 24, "a reserved address"},
    {{192, 0, 2}, 24, "an address for documentation"},
    {{192, 88, 99}, 24, "a reserved address"},
    {{192, 168}, 16, "a private address"},
    {{198, 18}, 15, "an address for benchmarks"},
    {{198, 51, 100}, 24, "an address for documentation"},
    {{203, 0, 113}, 24, "an address for documentation"},
    {{224}, 4, "a multicast address"},
    {{240}, 4, "a reserved address"},
};

constexpr Forbidden forbidden_v6[] = {
    {{}, 8, "a reserved address"},  // the unspecified one and loopback are here
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "an address of a local translator"},
    {{0x01, 0x00}, 64, "a discarded address"},
    {{0x20, 0x01, 0x00, 0x00}, 23, "a reserved address"},  // Teredo, ORCHID and their like
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "an address for documentation"},
    {{0x3f, 0xff}, 20, "an address for documentation"},
    {{0x5f, 0x00}, 16, "a segment-routing address"},
    {{0xfc}, 7, "a private address"},
    {{0xfe, 0x80}, 10, "a link-local address"},
    {{0xfe, 0xc0}, 10, "a site-local address"},
    {{0xff}, 8, "a multicast address"},
};

// Where an IPv6 address has an IPv4 address inside, and how many bytes in.
struct Wrapping {
  std::array<uint8_t, 16> base;
  int bits;
  std::size_t at;
};

constexpr Wrapping wrappings[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12},  // mapped
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},                    // NAT64
    {{0x20, 0x02}, 16, 2},                                 // 6to4
};

bool begins_with(const std::array<uint8_t, 16>& bytes, const std::array<uint8_t, 16>& base, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(base.begin(), base.begin() + static_cast<std::ptrdiff_t>(whole), bytes.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<uint8_t>(0xff << (8 - bits % 8));
  return (bytes[whole] & mask) == (base[whole] & mask);
}

Address unwrapped(const Address& address) {
  if (!address.is_v6) return address;
  for (const auto& [base, bits, at] : wrappings) {
    if (!begins_with(address.bytes, base, bits)) continue;
    Address inner;
    std::copy_n(address.bytes.begin() + static_cast<std::ptrdiff_t>(at), 4, inner.bytes.begin());
    return inner;
  }
  return address;
}

}  // namespace

std::string Address::text() const {
  char out[INET6_ADDRSTRLEN] = "";
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), out, sizeof out);
  return out;
}

std::optional<Address> parse_address(std::string_view text) {
  // What follows a NUL would not be looked at.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string terminated(text);
  Address out;
  if (inet_pton(AF_INET, terminated.c_str(), out.bytes.data()) == 1) return out;
  out.is_v6 = true;
  if (inet_pton(AF_INET6, terminated.c_str(), out.bytes.data()) == 1) return out;
  return std::nullopt;
}

Address address_of(const sockaddr& socket_address) {
  Address out;
  if (socket_address.sa_family == AF_INET) {
    std::memcpy(out.bytes.data(), &reinterpret_cast<const sockaddr_in&>(socket_address).sin_addr, 4);
  } else {
    out.is_v6 = true;
    std::memcpy(out.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(socket_address).sin6_addr, 16);
  }
  return out;
}

socklen_t fill_socket_address(const Address& address, int port, sockaddr_storage& out) {
  out = {};
  if (address.is_v6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    return sizeof v6;
  }
  auto& v4 = reinterpret_cast<sockaddr_in&>(out);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  std::memcpy(&v4.sin_addr, address.bytes.data(), 4);
  return sizeof v4;
}

bool AddressRange::holds(const Address& address) const {
  const Address inner = base.is_v6 ? address : unwrapped(address);
  return inner.is_v6 == base.is_v6 && begins_with(inner.bytes, base.bytes, bits);
}

std::optional<AddressRange> parse_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto base = parse_address(text.substr(0, slash));
  if (!base) return std::nullopt;
  const int most = base->is_v6 ? 128 : 32;
  if (slash == std::string_view::npos) return AddressRange{*base, most};
  const auto digits = text.substr(slash + 1);
  int bits = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || bits < 0 || bits > most)
    return std::nullopt;
  return AddressRange{*base, bits};
}

std::string_view why_forbidden(const Address& address) {
  const Address inner = unwrapped(address);
  const auto judge = [&](const auto& table) -> std::string_view {
    for (const auto& [base, bits, what] : table) {
      if (begins_with(inner.bytes, base, bits)) return what;
    }
    return {};
  };
  return inner.is_v6 ? judge(forbidden_v6) : judge(forbidden_v4);
}

}  // namespace sluice
