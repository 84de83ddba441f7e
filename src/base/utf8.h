// Where UTF-8 text may be cut: between characters, never inside one. Pure; called from any thread.
// base/bytes.h checks that text is UTF-8 and counts its characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

// True for each byte of a character but its first.
constexpr bool continues_utf8(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// The size of the longest prefix of `text` that has at most `bytes_max` bytes and ends between two characters.
constexpr std::size_t utf8_prefix_size(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text.size();
  while (bytes_max > 0 && continues_utf8(text[bytes_max])) --bytes_max;
  return bytes_max;
}

}  // namespace sluice
