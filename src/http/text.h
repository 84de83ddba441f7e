// The alphabet of HTTP: which characters may stand where, and the few ways to take a value apart.
#pragma once

#include <strings.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http {

bool is_token_char(char c);
bool is_token(std::string_view text);           // methods, names of header fields
bool is_field_value(std::string_view text);     // no control characters but the tab
bool is_target(std::string_view text);          // visible ASCII but '#'
bool is_authority_text(std::string_view text);  // characters of a Host field; may be empty

// Compares ASCII words without regard to case.
inline bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Without blanks and tabs at both ends.
inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text);  // of ASCII letters

// Removes the next element from a comma-separated list and returns it, trimmed; it may be empty.
std::string_view take_element(std::string_view& list);
// The elements of a comma-separated list, trimmed, without empty ones.
std::vector<std::string_view> list_of(std::string_view value);

// A number that consists of 1 to 18 digits.
std::optional<uint64_t> decimal(std::string_view text);
int hex_digit(char c);  // -1: not a hexadecimal digit

}  // namespace sluice::http
