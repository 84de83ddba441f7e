#include "base/varint.h"

namespace sluice {

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

std::optional<uint8_t> ByteReader::byte() {
  if (bytes_.empty()) return std::nullopt;
  const auto value = static_cast<uint8_t>(bytes_[0]);
  bytes_.remove_prefix(1);
  return value;
}

std::optional<uint64_t> ByteReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto next = byte();
    if (!next) return std::nullopt;
    // A number has one spelling: no idle last byte, nothing beyond 64 bits.
    if ((*next == 0 && shift > 0) || (shift == 63 && *next > 1)) return std::nullopt;
    value |= static_cast<uint64_t>(*next & 0x7f) << shift;
    if ((*next & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> ByteReader::take(uint64_t size) {
  if (size > bytes_.size()) return std::nullopt;
  const auto taken = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return taken;
}

}  // namespace sluice
