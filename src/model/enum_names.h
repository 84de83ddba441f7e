// Enumerations and the words that stand for them outside, in the order of their values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::model {

template <typename Enum, std::size_t count>
std::optional<Enum> named(const std::array<std::string_view, count>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

template <typename Enum, std::size_t count>
std::string_view name_in(const std::array<std::string_view, count>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace sluice::model
