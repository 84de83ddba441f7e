#include "base/ids.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::string_view digits = "0123456789abcdefghjkmnpqrstvwxyz";

int digit_value(char c) {
  const auto at = digits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

void append_ulid(std::string& out, const Ulid& id) {
  char text[ulid_text_size];
  // 26 digits of 5 bits are 130; the two missing bits lead.
  uint32_t held = 0;
  int bits = 2;
  std::size_t at = 0;
  for (const uint8_t byte : id.bytes) {
    held = held << 8 | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text[at++] = digits[held >> bits & 31];
    }
  }
  out.append(text, sizeof text);
}

std::optional<Ulid> parse_ulid(std::string_view text) {
  if (text.size() != ulid_text_size || digit_value(text[0]) < 0 || digit_value(text[0]) > 7) return std::nullopt;
  Ulid id;
  uint32_t held = 0;
  int bits = -2;
  std::size_t at = 0;
  for (const char c : text) {
    const int value = digit_value(c);
    if (value < 0) return std::nullopt;
    held = (held << 5 | static_cast<uint32_t>(value)) & 0x1fff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      id.bytes[at++] = static_cast<uint8_t>(held >> bits);
    }
  }
  return id;
}

Ulid UlidSource::next(Timestamp now, const std::array<uint8_t, 10>& noise) {
  Ulid fresh;
  for (int i = 0; i < 6; ++i) fresh.bytes[static_cast<std::size_t>(i)] = static_cast<uint8_t>(now.ms >> (40 - 8 * i));
  std::copy(noise.begin(), noise.end(), fresh.bytes.begin() + 6);
  if (std::equal(last_.bytes.begin(), last_.bytes.begin() + 6, fresh.bytes.begin()) || fresh < last_) {
    fresh = last_;
    for (std::size_t i = 16; i-- > 0;) {
      if (++fresh.bytes[i] != 0) break;
    }
  }
  last_ = fresh;
  return fresh;
}

}  // namespace sluice
