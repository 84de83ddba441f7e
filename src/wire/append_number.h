// Decimal numbers in lines of a stream, written without a copy on the way. Pure, for any thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace sluice::wire {

inline void append_number(std::string& out, int64_t value) {
  char text[24];
  const auto [end, failed] = std::to_chars(text, text + sizeof text, value);
  out.append(text, end);
}

}  // namespace sluice::wire
