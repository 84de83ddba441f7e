#include "harness/json_line.h"

#include <charconv>

#include "base/bytes.h"

namespace sluice::harness {
namespace {

constexpr int64_t count_max = 1'000'000'000'000;

// The code unit of the escape that `text` begins with; 0 when it begins with none.
unsigned code_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return 0;
  unsigned unit = 0;
  const auto [end, fault] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return fault == std::errc() && end == text.data() + 6 ? unit : 0;
}
bool is_high(unsigned unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned unit) { return unit >= 0xDC00 && unit < 0xE000; }

std::string without_lone_surrogates(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const unsigned unit = code_unit(line);
    std::size_t size = line[0] != '\\' ? 1 : unit == 0 ? 2 : 6;
    if (is_high(unit) && is_low(code_unit(line.substr(6)))) {
      size = 12;
    } else if (is_high(unit) || is_low(unit)) {
      out += "\\ufffd";
      line.remove_prefix(size);
      continue;
    }
    out += line.substr(0, size);
    line.remove_prefix(size < line.size() ? size : line.size());
  }
  return out;
}

}  // namespace

std::vector<std::string> LineSplitter::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto piece = bytes.substr(0, newline);
    if (!skipping_ && rest_.size() + piece.size() > line_bytes_max) {
      skipping_ = overlong_ = true;
      rest_ = std::string();  // gives the memory back
    }
    if (!skipping_) rest_ += piece;
    if (newline == std::string_view::npos) break;
    bytes.remove_prefix(newline + 1);
    skipping_ = false;
    if (rest_.ends_with('\r')) rest_.pop_back();
    if (!rest_.empty()) lines.push_back(std::exchange(rest_, {}));
  }
  return lines;
}

Result<json::Document> parse_line(std::string_view line) {
  auto document = json::Document::parse(line);
  if (document || (line.find("\\ud") == line.npos && line.find("\\uD") == line.npos)) return document;
  return json::Document::parse(without_lone_surrogates(line));
}

json::Value value_in(json::Value object, std::string_view name) { return object.find(name).value_or(json::Value()); }

std::string_view text_in(json::Value object, std::string_view name) {
  return value_in(object, name).string().value_or("");
}

int64_t count_in(json::Value object, std::string_view name) {
  const int64_t count = value_in(object, name).integer().value_or(0);
  return count < 0 || count > count_max ? 0 : count;
}

bool is_true_in(json::Value object, std::string_view name) { return value_in(object, name).boolean().value_or(false); }

std::string object_in(json::Value object, std::string_view name) {
  const auto value = value_in(object, name);
  return value.kind() == json::Kind::object ? value.to_text() : "{}";
}

std::string as_utf8(std::string_view text) {
  std::string out(text);
  if (is_utf8(out)) return out;
  for (char& byte : out) {
    if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
  }
  return out;
}

}  // namespace sluice::harness
