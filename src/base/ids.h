// Names of things: a prefix that says the kind, and a ULID in lower case that sorts by time.
//
// Each kind is its own type, so a run cannot be looked up by the name of a message. An id is kept
// as its 16 bytes and spelt only at a door.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace sluice {

// 48 bits of milliseconds, then 80 bits that only count and chance decide.
struct Ulid {
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const Ulid&) const = default;
};

inline constexpr std::size_t ulid_text_size = 26;
void append_ulid(std::string& out, const Ulid& id);
std::optional<Ulid> parse_ulid(std::string_view text);

template <typename Kind>
struct Id {
  Ulid ulid;

  auto operator<=>(const Id&) const = default;

  void append_to(std::string& out) const {
    out += Kind::prefix;
    append_ulid(out, ulid);
  }
  std::string text() const {
    std::string out;
    out.reserve(Kind::prefix.size() + ulid_text_size);
    append_to(out);
    return out;
  }
  static std::optional<Id> parse(std::string_view text) {
    if (!text.starts_with(Kind::prefix)) return std::nullopt;
    const auto ulid = parse_ulid(text.substr(Kind::prefix.size()));
    if (!ulid) return std::nullopt;
    return Id{*ulid};
  }
};

// Makes ULIDs that strictly increase within one process, also within a millisecond and when the
// clock steps back, so that rows sorted by id are rows in the order they were made.
class UlidSource {
 public:
  // `noise` is 10 fresh random bytes.
  Ulid next(Timestamp now, const std::array<uint8_t, 10>& noise);

 private:
  Ulid last_;
};

}  // namespace sluice

template <typename Kind>
struct std::hash<sluice::Id<Kind>> {
  std::size_t operator()(const sluice::Id<Kind>& id) const noexcept {
    uint64_t low = 0;
    for (int i = 8; i < 16; ++i) low = low << 8 | id.ulid.bytes[static_cast<std::size_t>(i)];
    return low;  // the random half, incremented: already well spread
  }
};
