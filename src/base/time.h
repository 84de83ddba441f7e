// Moments and spans, with their units in the type, and their one spelling (RFC 3339, UTC, milliseconds).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// A span of time in milliseconds.
struct Millis {
  int64_t value = 0;
  auto operator<=>(const Millis&) const = default;
  friend Millis operator+(Millis a, Millis b) { return {a.value + b.value}; }
  friend Millis operator-(Millis a, Millis b) { return {a.value - b.value}; }
};

// Wall-clock time, milliseconds since 1970. It may jump; never compute a time-out from it.
struct Timestamp {
  int64_t ms = 0;
  auto operator<=>(const Timestamp&) const = default;
};

// "2026-07-02T10:00:01.123Z"
void append_rfc3339(std::string& out, Timestamp at);
std::string to_rfc3339(Timestamp at);
std::optional<Timestamp> from_rfc3339(std::string_view text);

}  // namespace sluice
