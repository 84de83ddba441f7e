#include "vault/spellings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "vault/vault.h"

namespace sluice::vault {
namespace {

constexpr std::size_t base64_digits_min = 6;  // shorter ones would be found in any text
constexpr std::size_t broken_bytes_min = 8;   // what is broken into lines is long
constexpr std::size_t line_bytes_min = 8;
constexpr std::size_t alike_bytes_min = 128;  // shorter ones are compared as they are
constexpr std::string_view upper_digits = "0123456789ABCDEF";
constexpr std::string_view lower_digits = "0123456789abcdef";
constexpr std::string_view letters_and_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

uint8_t octet(char c) { return static_cast<uint8_t>(c); }

struct Character {
  uint32_t point = 0;
  std::size_t size = 0;  // 0: none of more than one byte begins here
};
Character character_at(std::string_view value, std::size_t at) {
  const auto lead = octet(value[at]);
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (size == 0 || at + size > value.size()) return {};
  uint32_t point = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) point = point << 6 | (octet(value[at + i]) & 0x3f);
  return {point, size};
}

// ── URLs ──
struct UrlWay {
  std::string_view kept;  // besides letters and digits
  std::string_view space;
  bool every_byte = false;  // letters and digits too
};
constexpr std::array<UrlWay, 12> url_ways = {{
    {"-_.~", "%20"},                          // RFC 3986, and most libraries
    {"-_.~", "+"},                            // Python's quote_plus, Go's QueryEscape
    {"-_.~!'()*", "%20"},                     // encodeURIComponent
    {"-_.*", "+"},                            // forms in browsers, Java
    {"-_.", "+"},                             // PHP's urlencode
    {"-_.~/", "%20"},                         // Python's quote
    {"-_.~!$&'()*+,;=:@/?", "%20"},           // a path or query that is encoded only where it must be
    {"-_.~!$&'()*+,;=:@/?#", "%20"},          // encodeURI
    {"-_.~$&+,;=:@/", "%20"},                 // Go's paths
    {"-_.~!$&()*+,;=:@/?[\\]^`{|}%", "%20"},  // a browser's query
    {"-_.~!$&'()*+,;=:@/?#[]%", "%20"},       // Python's requests
    {"", "%20", true},
}};

void add_to_url(std::string& out, char c, const UrlWay& way, std::string_view digits) {
  const bool is_kept = letters_and_digits.find(c) != std::string_view::npos
                           ? !way.every_byte
                           : way.kept.find(c) != std::string_view::npos;
  if (is_kept) {
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
  bool lower_wide = false;   // of what is not ASCII the digits are lower case, whatever they are elsewhere
};
constexpr std::array<JsonWay, 12> json_ways = {{
    {"", false, false, false},                 // JSON.stringify
    {"", true, false, false},                  // slashes too
    {"", false, true, false},                  // Python
    {"", true, true, false},                   // PHP
    {"<>&", false, false, false},              // Go
    {"<>&=\'", false, false, false},           // Java's Gson
    {"<>&\'+`\x7f", false, true, true},        // .NET
    {"<>&\'+`\x7f", false, false, true},       // .NET, set to leave letters alone
    {"<>&\'+`\x7f", false, true, true, true},  // the same, after another hand
    {"<>&\'", false, false, true},             // Newtonsoft
    {"<>&\'", true, true, true, true},         // PHP, set to be safe in HTML
    {"<>&", false, true, false, true},         // Django
}};

void add_code_unit(std::string& out, uint32_t unit, std::string_view digits) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[unit >> shift & 15];
}

// Returns the size of the character; 0 if it is none of more than one byte.
std::size_t add_wide(std::string& out, std::string_view value, std::size_t at, std::string_view digits) {
  const auto [point, size] = character_at(value, at);
  if (size == 0) return 0;
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
  } else if (const auto size =
                 octet(c) >= 0x80 && way.ascii ? add_wide(out, value, at, way.lower_wide ? lower_digits : digits) : 0;
             size > 0) {
    return size;
  } else {
    out += c;
  }
  return 1;
}

// What a JSON string holds, written into another one.
std::size_t add_to_nested_json(std::string& out, std::string_view value, std::size_t at, const JsonWay& inner,
                               const JsonWay& outer, std::string_view digits) {
  std::string once;
  const auto taken = add_to_json(once, value, at, inner, digits);
  for (std::size_t i = 0; i < once.size();) i += add_to_json(out, once, i, outer, digits);
  return taken;
}

// ── HTML ──
struct HtmlWay {
  std::string_view quote;
  std::string_view apostrophe;
  std::string_view plus = "+";
};
constexpr std::array<HtmlWay, 8> html_ways = {{
    {"\"", "'"},  // where neither can end an attribute
    {"&quot;", "'"},
    {"&quot;", "&#39;"},
    {"&quot;", "&#039;"},
    {"&quot;", "&#x27;"},
    {"&quot;", "&apos;"},
    {"&#34;", "&#39;"},           // Go
    {"&#34;", "&#39;", "&#43;"},  // Go's templates
}};

void add_to_html(std::string& out, char c, const HtmlWay& way) {
  switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += way.quote; break;
    case '\'': out += way.apostrophe; break;
    case '+': out += way.plus; break;
    default: out += c;
  }
}

// ── Latin-1 ──
// UTF-8 that was read as Latin-1 and written as UTF-8 again.
void add_misread(std::string& out, char c) {
  if (octet(c) >= 0x80) out += static_cast<char>(0xc0 | octet(c) >> 6);
  out += octet(c) >= 0x80 ? static_cast<char>(0x80 | (octet(c) & 0x3f)) : c;
}

std::size_t add_latin_1(std::string& out, std::string_view value, std::size_t at) {
  const auto [point, size] = character_at(value, at);
  out += size == 0 ? value[at] : static_cast<char>(point);
  return std::max<std::size_t>(size, 1);
}

// How long it would be; 0: it has letters that Latin-1 has not, or none that are different there.
std::size_t latin_1_size(std::string_view value) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < value.size(); ++count) {
    const auto [point, size] = character_at(value, at);
    if (point > 0xff) return 0;
    at += std::max<std::size_t>(size, 1);
  }
  return count < value.size() ? count : 0;
}

// ── the value itself ──
std::string_view without_edges(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// A key of many lines is often printed with other line ends, indented or in part.
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

char Spelling::peek() {
  if (pending_at_ == pending_.size()) {
    pending_.clear();
    pending_at_ = 0;
    add_next();
  }
  return pending_[pending_at_];
}

char Spelling::take() {
  const char next = peek();
  ++pending_at_;
  return next;
}

bool Spelling::take_if(char byte) {
  const bool is_next = peek() == byte;
  if (is_next) ++pending_at_;
  return is_next;
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
    case Way::json_in_plain_json:
      at_ += add_to_nested_json(pending_, value_, at_, json_ways.at(row_), json_ways.front(), digits_);
      break;
    case Way::json_in_json:
      at_ += add_to_nested_json(pending_, value_, at_, json_ways.at(row_), json_ways.at(row_), digits_);
      break;
    case Way::html: add_to_html(pending_, value_[at_++], html_ways.at(row_)); break;
    case Way::hex:
      (pending_ += digits_[octet(value_[at_]) >> 4]) += digits_[octet(value_[at_]) & 15];
      ++at_;
      break;
    case Way::misread: add_misread(pending_, value_[at_++]); break;
    case Way::latin_1: at_ += add_latin_1(pending_, value_, at_); break;
    case Way::base64: add_base64_digit(); break;
  }
}

// Only digits that the value alone decides, when `before` bytes stand before it in the same group of three. Those at
// the edges also hold bits of the neighbours.
Spelling Spelling::base64(std::string_view value, std::size_t before, std::string_view last_two) {
  Spelling made(value, Way::base64, before, last_two);
  made.at_ = (before * 8 + 5) / 6;
  made.end_ = (before + value.size()) * 8 / 6;
  made.residue_ = (before + value.size()) % 3 == 0 ? Residue::none : Residue::digit;
  return made;
}

// Of a value that nothing follows, the last digit is known too.
Spelling Spelling::base64_alone(std::string_view value, std::string_view last_two) {
  Spelling made(value, Way::base64, 0, last_two);
  made.end_ = (value.size() * 8 + 5) / 6;
  made.residue_ = value.size() % 3 == 0 ? Residue::none : Residue::padding;
  return made;
}

Spelling Spelling::broken(std::size_t after, std::string_view line_end) const {
  Spelling made = *this;
  made.break_at_ = at_ + after;
  made.line_end_ = line_end;
  return made;
}

void Spelling::add_base64_digit() {
  if (at_ == break_at_) pending_ += line_end_;
  const auto byte_at = [&](std::size_t at) {
    return at < row_ || at - row_ >= value_.size() ? 0u : uint32_t{octet(value_[at - row_])};
  };
  const std::size_t byte = at_ * 6 / 8;
  const auto digit = (byte_at(byte) << 8 | byte_at(byte + 1)) >> (10 - at_ * 6 % 8) & 63;
  pending_ += digit < 62 ? letters_and_digits[digit] : digits_[digit - 62];
  ++at_;
}

// Lines may end anywhere in it; how long they are need not be known. After its head, line ends are overlooked.
void Spelling::add_base64(std::string_view value, std::vector<Spelling>& spellings) {
  const auto add = [&](const Spelling& spelling) {
    if (spelling.at_ + base64_digits_min <= spelling.end_) spellings.push_back(spelling);
  };
  const auto add_broken = [&](const Spelling& spelling) {
    const auto size = std::min(spelling.end_ - spelling.at_, base64_head_max);
    for (std::size_t after = 1; after < size; ++after) {
      for (const std::string_view line_end : {"\n", "\r\n"}) add(spelling.broken(after, line_end));
    }
  };
  for (const std::string_view last_two : {"+/", "-_"}) {
    for (std::size_t before = 0; before < 3; ++before) add(base64(value, before, last_two));
    add(base64_alone(value, last_two));
  }
  if (value.size() < broken_bytes_min) return;
  for (std::size_t before = 0; before < 3; ++before) add_broken(base64(value, before, "+/"));
}

namespace {

// One character of each kind that there is in the value: ways that write these alike write the whole value alike. All
// of one byte are of different kinds. Of the others, ways differ only in whether they write them as code units or
// bytes, and in the case of the digits.
std::vector<std::string_view> kinds_of_characters(std::string_view value) {
  std::vector<std::string_view> kinds;
  std::array<bool, 256> seen_bytes{};
  std::array<bool, 32> seen_wide{};
  for (std::size_t at = 0; at < value.size();) {
    const auto [point, size] = character_at(value, at);
    const auto width = std::max<std::size_t>(size, 1);
    std::string units;
    if (size > 0) add_wide(units, value, at, lower_digits);
    const bool has_letter = units.find_first_of("abcdef") != std::string::npos;
    const std::size_t wide = size << 2 | (point <= 0xff ? 2u : 0u) | (has_letter ? 1u : 0u);
    auto& seen = size == 0 ? seen_bytes.at(octet(value[at])) : seen_wide.at(wide);
    if (!std::exchange(seen, true)) kinds.push_back(value.substr(at, width));
    at += width;
  }
  return kinds;
}

}  // namespace

// Most ways change nothing of most values, and a long value is read through once for each.
void Spelling::leave_out_equal_ways(std::string_view value, std::vector<Spelling>& spellings) {
  const auto kinds = kinds_of_characters(value);
  std::set<std::string> seen;
  std::erase_if(spellings, [&](const Spelling& spelling) {
    if (spelling.value_.size() != value.size()) return false;  // a line of it
    std::string all;
    for (const auto kind : kinds) {
      const auto written = Spelling(kind, spelling.way_, spelling.row_, spelling.digits_).rest();
      (all += std::to_string(written.size()) += ':') += written;
    }
    return !seen.insert(std::move(all)).second;
  });
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
      for (const auto way : {Way::json, Way::json_in_plain_json, Way::json_in_json}) {
        spellings.push_back(Spelling(value, way, row, digits));
      }
    }
    spellings.push_back(Spelling(value, Way::hex, 0, digits));
  }
  for (std::size_t row = 0; row < html_ways.size(); ++row) {
    spellings.push_back(Spelling(value, Way::html, row, {}));
  }
  spellings.push_back(Spelling(value, Way::misread, 0, {}));
  if (latin_1_size(value) >= value_bytes_min) spellings.push_back(Spelling(value, Way::latin_1, 0, {}));
  if (value.size() > alike_bytes_min) Spelling::leave_out_equal_ways(value, spellings);
  Spelling::add_base64(value, spellings);
  return spellings;
}

}  // namespace sluice::vault
