#include "vault/spellings.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "vault/vault.h"

namespace sluice::vault {
namespace {

constexpr std::size_t base64_digits_min = 6;  // shorter ones would be found in any text
constexpr std::size_t line_bytes_min = 8;
constexpr std::string_view upper_digits = "0123456789ABCDEF";
constexpr std::string_view lower_digits = "0123456789abcdef";
constexpr std::string_view letters_and_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

uint8_t octet(char c) { return static_cast<uint8_t>(c); }

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

void add_to_url(std::string& out, char c, const UrlWay& way, std::string_view digits) {
  if (letters_and_digits.find(c) != std::string_view::npos || way.kept.find(c) != std::string_view::npos) {
    out += c;
  } else if (c == ' ') {
    out += way.space;
  } else {
    ((out += '%') += digits[octet(c) >> 4]) += digits[octet(c) & 15];
  }
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

// Returns how many bytes of the value were written.
std::size_t add_to_json(std::string& out, std::string_view value, std::size_t at, const JsonWay& way,
                        std::string_view digits) {
  constexpr std::string_view short_from = "\b\t\n\f\r\\";
  constexpr std::string_view short_to = "btnfr\\";
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
    return size;
  } else {
    out += c;
  }
  return 1;
}

// ── the value itself ──
std::string_view without_edges(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// A key of many lines is often told with other line ends, indented or in part.
std::vector<std::string_view> lines_of(std::string_view value) {
  std::vector<std::string_view> lines;
  if (value.find('\n') == std::string_view::npos) return lines;
  while (!value.empty()) {
    const auto end = std::min(value.find('\n'), value.size());
    const auto line = without_edges(value.substr(0, end));
    value.remove_prefix(std::min(end + 1, value.size()));
    const bool is_armour = line.starts_with("-----");  // "-----BEGIN PRIVATE KEY-----" is no secret
    if (line.size() >= line_bytes_min && !is_armour) lines.push_back(line);
  }
  return lines;
}

}  // namespace

char Spelling::take() {
  if (pending_at_ == pending_.size()) {
    pending_.clear();
    pending_at_ = 0;
    add_next();
  }
  return pending_[pending_at_++];
}

std::string Spelling::rest() {
  std::string out;
  while (!at_end()) out += take();
  return out;
}

void Spelling::add_next() {
  switch (way_) {
    case Way::plain: pending_ += value_[at_++]; break;
    case Way::url: add_to_url(pending_, value_[at_++], url_ways.at(row_), digits_); break;
    case Way::json: at_ += add_to_json(pending_, value_, at_, json_ways.at(row_), digits_); break;
    case Way::base64: add_base64_digit(); break;
  }
}

// Only digits that the value alone decides, when `before` bytes stand before it in the same group of three. Those at
// the edges also hold bits of the neighbours.
Spelling Spelling::base64(std::string_view value, std::size_t before, std::string_view last_two) {
  Spelling made(value, Way::base64, before, last_two);
  made.at_ = (before * 8 + 5) / 6;
  made.end_ = (before + value.size()) * 8 / 6;
  return made;
}

// Of a value that nothing follows, the last digit is known too. Padding is no secret.
Spelling Spelling::base64_alone(std::string_view value, std::string_view last_two) {
  Spelling made(value, Way::base64, 0, last_two);
  made.end_ = (value.size() * 8 + 5) / 6;
  return made;
}

void Spelling::add_base64_digit() {
  const auto byte_at = [&](std::size_t at) {
    return at < row_ || at - row_ >= value_.size() ? 0u : uint32_t{octet(value_[at - row_])};
  };
  const std::size_t byte = at_ * 6 / 8;
  const auto digit = (byte_at(byte) << 8 | byte_at(byte + 1)) >> (10 - at_ * 6 % 8) & 63;
  pending_ += digit < 62 ? letters_and_digits[digit] : digits_[digit - 62];
  ++at_;
}

std::vector<Spelling> spellings_of(std::string_view value) {
  using Way = Spelling::Way;
  std::vector<Spelling> spellings;
  if (const auto core = without_edges(value); core.size() >= value_bytes_min) value = core;
  if (value.size() < value_bytes_min) return spellings;
  spellings.push_back(Spelling(value, Way::plain, 0, {}));
  for (const auto line : lines_of(value)) spellings.push_back(Spelling(line, Way::plain, 0, {}));
  for (const std::string_view digits : {upper_digits, lower_digits}) {
    for (std::size_t row = 0; row < url_ways.size(); ++row) {
      spellings.push_back(Spelling(value, Way::url, row, digits));
    }
    for (std::size_t row = 0; row < json_ways.size(); ++row) {
      spellings.push_back(Spelling(value, Way::json, row, digits));
    }
  }
  const auto add_base64 = [&](const Spelling& spelling) {
    if (spelling.at_ + base64_digits_min <= spelling.end_) spellings.push_back(spelling);
  };
  for (const std::string_view last_two : {"+/", "-_"}) {
    for (std::size_t before = 0; before < 3; ++before) add_base64(Spelling::base64(value, before, last_two));
    add_base64(Spelling::base64_alone(value, last_two));
  }
  return spellings;
}

}  // namespace sluice::vault
