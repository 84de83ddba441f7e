#include "http/text.h"

#include <algorithm>
#include <array>

namespace sluice::http {
namespace {

using CharSet = std::array<bool, 256>;

constexpr CharSet make_set(std::string_view others) {
  CharSet set{};
  for (int c = '0'; c <= '9'; ++c) set[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) set[static_cast<std::size_t>(c)] = set[static_cast<std::size_t>(c - 32)] = true;
  for (const char c : others) set[static_cast<unsigned char>(c)] = true;
  return set;
}

constexpr CharSet make_value_set() {
  CharSet set{};
  for (std::size_t c = 0; c < 256; ++c) set[c] = c == '\t' || (c >= ' ' && c != 0x7f);
  return set;
}

constexpr CharSet token_chars = make_set("!#$%&'*+-.^_`|~");
constexpr CharSet authority_chars = make_set("-._~!$&'()*+,;=%:[]");
constexpr CharSet target_chars = make_set("-._~!$&'()*+,;=%:@/?[]{}|^`\\\"<>");
constexpr CharSet value_chars = make_value_set();

bool all_in(const CharSet& set, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return set[static_cast<unsigned char>(c)]; });
}

}  // namespace

bool is_token_char(char c) { return token_chars[static_cast<unsigned char>(c)]; }
bool is_token(std::string_view text) { return !text.empty() && all_in(token_chars, text); }
bool is_field_value(std::string_view text) { return all_in(value_chars, text); }
bool is_target(std::string_view text) { return !text.empty() && all_in(target_chars, text); }
bool is_authority_text(std::string_view text) { return all_in(authority_chars, text); }

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

std::string_view take_element(std::string_view& list) {
  const std::size_t comma = std::min(list.find(','), list.size());
  const std::string_view element = trimmed(list.substr(0, comma));
  list.remove_prefix(std::min(list.size(), comma + 1));
  return element;
}

std::vector<std::string_view> list_of(std::string_view value) {
  std::vector<std::string_view> out;
  while (!value.empty()) {
    if (const auto element = take_element(value); !element.empty()) out.push_back(element);
  }
  return out;
}

std::optional<uint64_t> decimal(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace sluice::http
