// JSON in and out. Reading is strict (RFC 8259, valid UTF-8, no lone surrogates, no name twice in an
// object, bounded depth); writing appends to a string.
//
// A Value is a view into its Document and must not outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/result.h"

namespace sluice::json {

enum class Kind : uint8_t { null, boolean, integer, real, string, array, object };

// "null", "boolean", "integer" … as a person would say it.
std::string_view name_of(Kind kind);

class Value {
 public:
  Value() = default;  // null

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }

  // Empty when the value is of another kind (or does not fit).
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<double> real() const;  // of an integer too
  std::optional<std::string_view> string() const;

  // The member of that name, if this is an object that has one.
  std::optional<Value> find(std::string_view name) const;

  // Calls back for each member or element in order; nothing for other kinds.
  void each_member(const std::function<void(std::string_view name, Value value)>& visit) const;
  void each_element(const std::function<void(Value value)>& visit) const;
  std::size_t size() const;

  // This value as compact JSON.
  std::string to_text() const;

 private:
  friend class Document;
  Value(const void* document, std::size_t index) : document_(document), index_(index) {}

  const void* document_ = nullptr;
  std::size_t index_ = 0;
};

// The text of an object's member; empty where there is none.
std::string text_of(Value object, std::string_view name);

class Document {
 public:
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  Value root() const&;
  Value root() && = delete;

  // `invalid` with what is wrong, in words, when `text` is not one JSON value.
  static Result<Document> parse(std::string_view text);

 private:
  struct Parsed;
  explicit Document(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;
};

// Appends `text` as a JSON string, quotes included. `text` must be valid UTF-8.
void append_string(std::string& out, std::string_view text);

// Writes one JSON value; commas are its own business.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }

  // `name` must need no escaping: names are ours.
  Writer& key(std::string_view name);
  // A name that came from outside.
  Writer& key_escaped(std::string_view name);

  Writer& string(std::string_view value);
  Writer& integer(int64_t value);
  Writer& real(double value);
  Writer& boolean(bool value);
  Writer& null();
  // `json` is a complete value, copied as it is.
  Writer& raw(std::string_view json);
  Writer& string_or_null(const std::optional<std::string>& value) { return value ? string(*value) : null(); }

 private:
  Writer& open(char bracket);
  Writer& close(char bracket);
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace sluice::json
