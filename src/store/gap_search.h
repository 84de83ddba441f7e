// Where a table can be read on after a page of it that cannot.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace sluice::store {

// Rows lie in the order of their numbers. Nothing right after `at` can be read: the least number after which something
// can, or the table is at its end; empty when there is none. Steps that grow find one, and halving finds the least.
template <typename IsReadableAfter>
std::optional<int64_t> end_of_gap(int64_t at, IsReadableAfter is_readable_after) {
  constexpr int64_t beyond_all = std::numeric_limits<int64_t>::max() / 4;
  int64_t step = 1;
  while (!is_readable_after(at + step)) {
    if (at + step > beyond_all) return std::nullopt;
    step *= 2;
  }
  int64_t unreadable = at + step / 2;
  int64_t readable = at + step;
  while (readable - unreadable > 1) {
    const auto middle = unreadable + (readable - unreadable) / 2;
    (is_readable_after(middle) ? readable : unreadable) = middle;
  }
  return readable;
}

}  // namespace sluice::store
