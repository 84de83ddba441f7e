#include "egress/http_text.h"

#include <strings.h>

#include <algorithm>
#include <array>

namespace sluice::egress {
namespace {

using CharSet = std::array<bool, 256>;

constexpr CharSet make_token_set() {
  CharSet set{};
  for (int c = '0'; c <= '9'; ++c) set[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) set[static_cast<std::size_t>(c)] = set[static_cast<std::size_t>(c - 32)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) set[static_cast<unsigned char>(c)] = true;
  return set;
}

constexpr CharSet token_chars = make_token_set();

template <typename Test>
bool all_of(std::string_view text, Test test) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return test(static_cast<unsigned char>(c)); });
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && all_of(text, [](unsigned char c) { return token_chars[c]; });
}

bool is_field_value(std::string_view text) {
  return all_of(text, [](unsigned char c) { return c == '\t' || (c >= ' ' && c != 0x7f); });
}

bool is_target(std::string_view text) {
  return !text.empty() && all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

std::vector<std::string_view> list_of(std::string_view value) {
  std::vector<std::string_view> out;
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    if (const auto element = trimmed(value.substr(0, comma)); !element.empty()) out.push_back(element);
    value.remove_prefix(comma == std::string_view::npos ? value.size() : comma + 1);
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

}  // namespace sluice::egress
