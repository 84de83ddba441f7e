#include "gates/glob.h"

#include <string>
#include <vector>

namespace sluice::gates {
namespace {

constexpr std::size_t compared_bytes_max = 4096;  // of a text with unknown parts: comparing costs pattern times text

// To the last star seen, never further back: that is enough, and linear but for the pattern's own size.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  for (std::size_t t = 0; t < text.size();) {
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
bool intersects(std::string_view pattern, std::string_view text) {
  std::vector<bool> reach(text.size() + 1);
  reach[0] = true;
  const auto skip_unknown = [&](std::vector<bool>& row) {
    for (std::size_t t = 0; t < text.size(); ++t) {
      if (row[t] && text[t] == unknown) row[t + 1] = true;
    }
  };
  skip_unknown(reach);
  for (const char c : pattern) {
    std::vector<bool> next(text.size() + 1);
    for (std::size_t t = 0; t <= text.size(); ++t) {
      if (c == '*') {
        next[t] = reach[t] || (t > 0 && next[t - 1]);
      } else if (t < text.size() && reach[t]) {
        if (text[t] == unknown) next[t] = true;  // the unknown gives this character and may give more
        if (text[t] == c) next[t + 1] = true;
      }
    }
    skip_unknown(next);
    reach = std::move(next);
  }
  return reach[text.size()];
}

std::string_view without_arguments(std::string_view pattern) {
  return pattern.ends_with(" *") ? pattern.substr(0, pattern.size() - 2) : pattern;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  return matches(pattern, text) || matches(without_arguments(pattern), text);
}

bool glob_may_match(std::string_view pattern, std::string_view text) {
  if (text.find(unknown) == std::string_view::npos) return glob_matches(pattern, text);
  std::string compared(text.substr(0, compared_bytes_max));
  if (text.size() > compared_bytes_max) compared += unknown;
  return intersects(pattern, compared) || intersects(without_arguments(pattern), compared);
}

}  // namespace sluice::gates
