// The same bytes in other pieces: whoever reads a stream must not care where it was cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::fuzz {

inline std::string_view text_of(const uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Cuts `text` where its own bytes say, so that the fuzzer can look for the cut that hurts.
template <typename Visit>
void each_piece(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t size = 1 + static_cast<uint8_t>(text[0]) % 7;
    visit(text.substr(0, size));
    text.remove_prefix(size < text.size() ? size : text.size());
  }
}

}  // namespace sluice::fuzz
