#include "base/json.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/limits.h"

namespace sluice::json {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// A Value is the two words of a simdjson element, so that its heavy header stays in this file.
static_assert(sizeof(Value) == sizeof(element) && std::is_trivially_copyable_v<element>);

element element_of(const Value& value) { return std::bit_cast<element>(value); }

Value value_of(element e) { return std::bit_cast<Value>(e); }

// Does a name stand twice? Of two, a proxy or a log may take the one and we the other.
bool repeats_a_name(const simdjson::dom::object& object) {
  // Nearly every object has a few names: those are compared without a heap or a sort.
  std::array<std::string_view, 8> few;
  std::size_t count = 0;
  for (const auto member : object) {
    const auto seen = few.begin() + static_cast<std::ptrdiff_t>(std::min(count, few.size()));
    if (std::find(few.begin(), seen, member.key) != seen) return true;
    if (count < few.size()) few[count] = member.key;
    ++count;
  }
  if (count <= few.size()) return false;
  std::vector<std::string_view> names;
  names.reserve(count);
  for (const auto member : object) names.push_back(member.key);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

// What simdjson lets pass and we do not, in words; empty when there is nothing.
std::string_view fault_of(element e, int depth) {
  // Deep nesting is cheap to send and costs a stack frame a level to walk.
  if (depth > limits::json_depth_max) return "nested too deeply";
  if (e.is_object()) {
    const simdjson::dom::object object(e);
    if (repeats_a_name(object)) return "a name stands twice in an object";
    for (const auto member : object) {
      if (const auto fault = fault_of(member.value, depth + 1); !fault.empty()) return fault;
    }
  } else if (e.is_array()) {
    for (const auto item : simdjson::dom::array(e)) {
      if (const auto fault = fault_of(item, depth + 1); !fault.empty()) return fault;
    }
  }
  return {};
}

// The grammar of RFC 8259, whatever the size.
bool is_number(std::string_view text) {
  const auto skip_digits = [&] {
    const auto count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  const auto skip_one_of = [&](std::string_view chars) {
    const bool there = !text.empty() && chars.find(text.front()) != std::string_view::npos;
    if (there) text.remove_prefix(1);
    return there;
  };
  skip_one_of("-");
  if (!skip_one_of("0") && !skip_digits()) return false;
  if (skip_one_of(".") && !skip_digits()) return false;
  if (skip_one_of("eE")) {
    skip_one_of("+-");
    if (!skip_digits()) return false;
  }
  return text.empty();
}

// simdjson says the same of a number that is misspelt and of one that does not fit. When every
// number is spelt well, one does not fit.
bool numbers_are_well_spelt(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '-' || (text[i] >= '0' && text[i] <= '9')) {
      const auto end = std::min(text.find_first_of(",:]} \t\r\n", i), text.size());
      if (!is_number(text.substr(i, end - i))) return false;
      i = end;
    }
  }
  return true;
}

bool is_escaped(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }

// How many bytes at the front stand for themselves: almost all do, and one at a time is dear. Of eight, each term
// leaves its byte's high bit where one is a quote, a backslash, smaller than a space; what it may say wrongly is above
// a bit that is right.
std::size_t clean_bytes(std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t every = 0x0101010101010101;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    const uint64_t quotes = word ^ (every * '"'), backslashes = word ^ (every * '\\');
    const uint64_t escaped =
        ((quotes - every) & ~quotes) | ((backslashes - every) & ~backslashes) | ((word - every * 0x20) & ~word);
    const int bits = std::countr_zero(escaped & (every * 0x80));
    if (bits < 64) return i + static_cast<std::size_t>(bits / 8);
  }
  while (i < text.size() && !is_escaped(static_cast<unsigned char>(text[i]))) ++i;
  return i;
}

void append_escaped(std::string& out, unsigned char c) {
  static constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default:
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
  }
}

void append_value(std::string& out, element e);

void append_object(std::string& out, const simdjson::dom::object& object) {
  out += '{';
  bool first = true;
  for (const auto member : object) {
    if (!std::exchange(first, false)) out += ',';
    append_string(out, member.key);
    out += ':';
    append_value(out, member.value);
  }
  out += '}';
}

void append_value(std::string& out, element e) {
  Writer writer(out);
  switch (e.type()) {
    case element_type::NULL_VALUE: writer.null(); break;
    case element_type::BOOL: writer.boolean(bool(e)); break;
    case element_type::INT64: writer.integer(int64_t(e)); break;
    case element_type::UINT64: out += std::to_string(uint64_t(e)); break;
    case element_type::DOUBLE: writer.real(double(e)); break;
    case element_type::STRING: writer.string(std::string_view(e)); break;
    case element_type::OBJECT: append_object(out, e); break;
    case element_type::ARRAY: {
      out += '[';
      bool first = true;
      for (const auto item : simdjson::dom::array(e)) {
        if (!std::exchange(first, false)) out += ',';
        append_value(out, item);
      }
      out += ']';
      break;
    }
  }
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::boolean: return "boolean";
    case Kind::integer: return "integer";
    case Kind::real: return "number";
    case Kind::string: return "string";
    case Kind::array: return "array";
    case Kind::object: return "object";
  }
  return "value";
}

struct Document::Parsed {
  simdjson::dom::parser parser;
};

Document::Document(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Value Document::root() const& { return value_of(parsed_->parser.doc.root()); }

Result<Document> Document::parse(std::string_view text) {
  if (text.empty()) return Error{ErrorKind::invalid, "there is no JSON: the text is empty"};
  auto parsed = std::make_unique<Parsed>();
  element root;
  const auto failed = parsed->parser.parse(text.data(), text.size()).get(root);
  if (failed == simdjson::UTF8_ERROR) return Error{ErrorKind::invalid, "not valid UTF-8"};
  if (failed == simdjson::STRING_ERROR) {
    return Error{ErrorKind::invalid, "a string has a bad escape or half of a surrogate pair"};
  }
  if (failed == simdjson::DEPTH_ERROR) return Error{ErrorKind::invalid, "nested too deeply"};
  if (failed == simdjson::NUMBER_ERROR && numbers_are_well_spelt(text)) {
    return Error{ErrorKind::invalid, "a number is too large to be read"};
  }
  if (failed != simdjson::SUCCESS) return Error{ErrorKind::invalid, "not valid JSON"};
  if (const auto fault = fault_of(root, 0); !fault.empty()) return Error{ErrorKind::invalid, std::string(fault)};
  return Document(std::move(parsed));
}

Kind Value::kind() const {
  if (document_ == nullptr) return Kind::null;
  switch (element_of(*this).type()) {
    case element_type::NULL_VALUE: return Kind::null;
    case element_type::BOOL: return Kind::boolean;
    case element_type::INT64:
    case element_type::UINT64: return Kind::integer;
    case element_type::DOUBLE: return Kind::real;
    case element_type::STRING: return Kind::string;
    case element_type::ARRAY: return Kind::array;
    case element_type::OBJECT: return Kind::object;
  }
  return Kind::null;
}

std::optional<bool> Value::boolean() const {
  if (kind() != Kind::boolean) return std::nullopt;
  return bool(element_of(*this));
}

std::optional<int64_t> Value::integer() const {
  if (kind() != Kind::integer) return std::nullopt;
  int64_t value = 0;
  if (element_of(*this).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<double> Value::real() const {
  if (kind() != Kind::integer && kind() != Kind::real) return std::nullopt;
  return double(element_of(*this));
}

std::optional<std::string_view> Value::string() const {
  if (kind() != Kind::string) return std::nullopt;
  return std::string_view(element_of(*this));
}

std::optional<Value> Value::find(std::string_view name) const {
  if (kind() != Kind::object) return std::nullopt;
  element found;
  if (simdjson::dom::object(element_of(*this)).at_key(name).get(found) != simdjson::SUCCESS) return std::nullopt;
  return value_of(found);
}

std::string text_of(Value object, std::string_view name) {
  const auto member = object.find(name);
  return std::string(member ? member->string().value_or("") : "");
}

void Value::each_member(const std::function<void(std::string_view, Value)>& visit) const {
  if (kind() != Kind::object) return;
  for (const auto member : simdjson::dom::object(element_of(*this))) visit(member.key, value_of(member.value));
}

void Value::each_element(const std::function<void(Value)>& visit) const {
  if (kind() != Kind::array) return;
  for (const auto item : simdjson::dom::array(element_of(*this))) visit(value_of(item));
}

std::size_t Value::size() const {
  std::size_t count = 0;
  each_element([&](Value) { ++count; });
  each_member([&](std::string_view, Value) { ++count; });
  return count;
}

std::string Value::to_text() const {
  std::string out;
  if (document_ == nullptr) return "null";
  append_value(out, element_of(*this));
  return out;
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (true) {
    const auto clean = clean_bytes(text);
    out += text.substr(0, clean);
    if (clean == text.size()) break;
    append_escaped(out, static_cast<unsigned char>(text[clean]));
    text.remove_prefix(clean + 1);
  }
  out += '"';
}

void Writer::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

Writer& Writer::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

Writer& Writer::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  separate();
  out_ += '"';
  out_ += name;
  out_ += "\":";
  needs_comma_ = false;
  return *this;
}

Writer& Writer::key_escaped(std::string_view name) {
  separate();
  append_string(out_, name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

Writer& Writer::string(std::string_view value) {
  separate();
  append_string(out_, value);
  return *this;
}

Writer& Writer::integer(int64_t value) {
  separate();
  char text[24];
  const auto [end, failed] = std::to_chars(text, text + sizeof text, value);
  out_.append(text, end);
  return *this;
}

Writer& Writer::real(double value) {
  separate();
  // JSON has no word for infinity.
  if (!std::isfinite(value)) {
    out_ += "null";
    return *this;
  }
  char text[40];
  const auto [end, failed] = std::to_chars(text, text + sizeof text, value);
  out_.append(text, end);
  // Digits alone would be read back as an integer, perhaps as one too large to read.
  if (std::string_view(text, end).find_first_of(".e") == std::string_view::npos) out_ += ".0";
  return *this;
}

Writer& Writer::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

Writer& Writer::null() {
  separate();
  out_ += "null";
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace sluice::json
