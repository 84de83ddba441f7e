#include "vault/spellings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "vault/vault.h"

namespace sluice::vault {
namespace {

constexpr std::size_t base64_chars_min = 6;  // shorter ones would be found in any text
constexpr std::size_t line_bytes_min = 8;
constexpr std::string_view upper_digits = "0123456789ABCDEF";
constexpr std::string_view lower_digits = "0123456789abcdef";
constexpr std::string_view letters_and_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

uint8_t octet(char c) { return static_cast<uint8_t>(c); }

// ── base64 ──
// The characters of base64 that the value alone decides, when `before` bytes stand before it in the same group of
// three. Characters at the edges also hold bits of the neighbours and are left out.
std::string base64_core(std::string_view value, std::size_t before, std::string_view last_two) {
  const std::size_t first = (before * 8 + 5) / 6;
  const std::size_t end = (before + value.size()) * 8 / 6;
  const auto byte_at = [&](std::size_t at) {
    return at < before || at - before >= value.size() ? 0u : uint32_t{octet(value[at - before])};
  };
  std::string out;
  out.reserve(end);
  for (std::size_t at = first; at < end; ++at) {
    const std::size_t byte = at * 6 / 8;
    const auto digit = (byte_at(byte) << 8 | byte_at(byte + 1)) >> (10 - at * 6 % 8) & 63;
    out += digit < 62 ? letters_and_digits[digit] : last_two[digit - 62];
  }
  return out;
}

void add_base64(std::vector<std::string>& out, std::string_view value) {
  // With zeros after it, the last character is that of a value that stands alone; the padding is no secret.
  const auto alone = std::string(value) + '\0';
  for (const std::string_view last_two : {"+/", "-_"}) {
    for (std::size_t before = 0; before < 3; ++before) out.push_back(base64_core(value, before, last_two));
    out.push_back(base64_core(alone, 0, last_two).substr(0, (value.size() * 8 + 5) / 6));
  }
  std::erase_if(out, [](const std::string& spelling) { return spelling.size() < base64_chars_min; });
}

// ── URLs ──
struct UrlWay {
  std::string_view kept;  // besides letters and digits
  std::string_view space;
};
constexpr std::array<UrlWay, 7> url_ways = {{
    {"-_.~", "%20"},                 // RFC 3986, and most libraries
    {"-_.~", "+"},                   // Python's quote_plus, Go's QueryEscape
    {"-_.~!'()*", "%20"},            // encodeURIComponent
    {"-_.*", "+"},                   // forms in browsers, Java
    {"-_.", "+"},                    // PHP's urlencode
    {"-_.~/", "%20"},                // Python's quote
    {"-_.~!$&'()*+,;=:@/?", "%20"},  // a path or query that is encoded only where it must be; encodeURI
}};

std::string url_encoded(std::string_view value, const UrlWay& way, std::string_view digits) {
  std::string out;
  for (const char c : value) {
    if (letters_and_digits.find(c) != std::string_view::npos || way.kept.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ') {
      out += way.space;
    } else {
      ((out += '%') += digits[octet(c) >> 4]) += digits[octet(c) & 15];
    }
  }
  return out;
}

// ── JSON ──
struct JsonWay {
  std::string_view as_code;  // written as \u00XX though JSON does not ask for it
  bool slash;                // written as \/
  bool ascii;                // what is not ASCII is written as \uXXXX
  bool quote_as_code;        // \u0022, not \"
};
constexpr std::array<JsonWay, 7> json_ways = {{
    {"", false, false, false},        // JSON.stringify
    {"", true, false, false},         // slashes too
    {"", false, true, false},         // Python
    {"", true, true, false},          // PHP
    {"<>&", false, false, false},     // Go
    {"<>&=\'", false, false, false},  // Java's Gson
    {"<>&\'+`", false, true, true},   // .NET
}};

void add_code_unit(std::string& out, uint32_t unit, std::string_view digits) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[unit >> shift & 15];
}

// `value` is UTF-8 from `at` on, where a character of more than one byte begins. Returns its size; 0 if it is none.
std::size_t add_wide(std::string& out, std::string_view value, std::size_t at, std::string_view digits) {
  const auto lead = octet(value[at]);
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (size == 0 || at + size > value.size()) return 0;
  uint32_t point = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) point = point << 6 | (octet(value[at + i]) & 0x3f);
  if (point < 0x10000) {
    add_code_unit(out, point, digits);
  } else {
    add_code_unit(out, 0xd800 + ((point - 0x10000) >> 10), digits);
    add_code_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff), digits);
  }
  return size;
}

std::string json_escaped(std::string_view value, const JsonWay& way, std::string_view digits) {
  constexpr std::string_view short_from = "\b\t\n\f\r\\";
  constexpr std::string_view short_to = "btnfr\\";
  std::string out;
  for (std::size_t at = 0; at < value.size(); ++at) {
    const char c = value[at];
    if (const auto found = short_from.find(c); found != std::string_view::npos) {
      (out += '\\') += short_to[found];
    } else if (c == '"' && !way.quote_as_code) {
      out += "\\\"";
    } else if (c == '/' && way.slash) {
      out += "\\/";
    } else if (octet(c) < 0x20 || c == '"' || way.as_code.find(c) != std::string_view::npos) {
      add_code_unit(out, octet(c), digits);
    } else if (const auto size = octet(c) >= 0x80 && way.ascii ? add_wide(out, value, at, digits) : 0; size > 0) {
      at += size - 1;
    } else {
      out += c;
    }
  }
  return out;
}

// ── the value itself ──
std::string_view without_edges(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// A key of many lines is often told with other line ends, indented or in part.
void add_lines(std::vector<std::string>& out, std::string_view value) {
  if (value.find('\n') == std::string_view::npos) return;
  while (!value.empty()) {
    const auto end = std::min(value.find('\n'), value.size());
    const auto line = without_edges(value.substr(0, end));
    value.remove_prefix(std::min(end + 1, value.size()));
    const bool is_armour = line.starts_with("-----");  // "-----BEGIN PRIVATE KEY-----" is no secret
    if (line.size() >= line_bytes_min && !is_armour) out.emplace_back(line);
  }
}

}  // namespace

std::vector<std::string> spellings_of(std::string_view value) {
  if (const auto core = without_edges(value); core.size() >= value_bytes_min) value = core;
  std::vector<std::string> spellings;
  add_base64(spellings, value);
  for (const std::string_view digits : {upper_digits, lower_digits}) {
    for (const auto& way : url_ways) spellings.push_back(url_encoded(value, way, digits));
    for (const auto& way : json_ways) spellings.push_back(json_escaped(value, way, digits));
  }
  spellings.emplace_back(value);
  add_lines(spellings, value);
  std::ranges::sort(spellings);
  spellings.erase(std::ranges::unique(spellings).begin(), spellings.end());
  std::erase_if(spellings, [](const std::string& spelling) { return spelling.size() < value_bytes_min; });
  return spellings;
}

}  // namespace sluice::vault
