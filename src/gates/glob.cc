#include "gates/glob.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gates {
namespace {

constexpr std::size_t compared_bytes_max = 4096;  // of a text with unknown parts: comparing costs pattern times text

// To the last star seen, never further back: that is enough, and linear but for the pattern's own size.
bool matches(std::string_view pattern, std::string_view text, Steps& steps) {
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  for (std::size_t t = 0; t < text.size();) {
    if (!steps.spend(1)) return false;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Is there a string that both describe? reach[t]: the pattern so far and text[0, t) have one in common.
bool intersects(std::string_view pattern, std::string_view text, Steps& steps) {
  if (!steps.spend((pattern.size() + 1) * (text.size() + 1))) return true;
  std::vector<char> reach(text.size() + 1);
  std::vector<char> next(text.size() + 1);
  reach[0] = 1;
  const auto skip_unknown = [&](std::vector<char>& row) {
    for (std::size_t t = 0; t < text.size(); ++t) {
      if (row[t] != 0 && text[t] == unknown) row[t + 1] = 1;
    }
  };
  skip_unknown(reach);
  for (const char c : pattern) {
    std::ranges::fill(next, 0);
    for (std::size_t t = 0; t <= text.size(); ++t) {
      if (c == '*') {
        next[t] = reach[t] != 0 || (t > 0 && next[t - 1] != 0) ? 1 : 0;
      } else if (t < text.size() && reach[t] != 0) {
        if (text[t] == unknown) next[t] = 1;  // the unknown gives this character and may give more
        if (text[t] == c) next[t + 1] = 1;
      }
    }
    skip_unknown(next);
    std::swap(reach, next);
  }
  return reach[text.size()] != 0;
}

// Empty when the pattern says the same without it.
std::optional<std::string_view> without_arguments(std::string_view pattern) {
  if (!pattern.ends_with(" *")) return std::nullopt;
  return pattern.substr(0, pattern.size() - 2);
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text, Steps& steps) {
  if (!steps.spend(1)) return false;
  if (matches(pattern, text, steps)) return true;
  const auto shorter = without_arguments(pattern);
  return shorter && matches(*shorter, text, steps);
}

bool glob_may_match(std::string_view pattern, std::string_view text, Steps& steps) {
  if (!steps.spend(1)) return true;
  if (text.find(unknown) == std::string_view::npos) {
    return glob_matches(pattern, text, steps) || steps.exhausted();
  }
  std::string compared(text.substr(0, compared_bytes_max));
  if (text.size() > compared_bytes_max) compared += unknown;
  if (intersects(pattern, compared, steps)) return true;
  const auto shorter = without_arguments(pattern);
  return shorter && intersects(*shorter, compared, steps);
}

}  // namespace sluice::gates
