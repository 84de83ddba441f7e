// The alphabet of HTTP/1: what may stand where, and the few ways to take a value apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::egress {

bool is_token(std::string_view text);        // methods, names of header fields
bool is_field_value(std::string_view text);  // no control characters but the tab
bool is_target(std::string_view text);       // visible ASCII but '#'

bool same_word(std::string_view a, std::string_view b);  // whatever their case
std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);
// The elements of a comma-separated value, trimmed, without empty ones.
std::vector<std::string_view> list_of(std::string_view value);

// Nothing but digits, at most 18 of them.
std::optional<uint64_t> decimal(std::string_view text);
int hex_digit(char c);  // -1: it is none

}  // namespace sluice::egress
