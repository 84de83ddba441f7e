#include "api/request/fields.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::api {
namespace {

using json::Kind;
using json::Value;

std::string with_article(Kind kind) {
  const std::string name(json::name_of(kind));
  return (name.find_first_of("aeiou") == 0 ? "an " : "a ") + name;
}

// What is wrong with a text, in words.
std::optional<std::string> fault_of(std::string_view text, const TextRule& rule) {
  if (text.find('\0') != std::string_view::npos) return "must not contain NUL";
  if (text.size() > rule.bytes_max) return "must be at most " + std::to_string(rule.bytes_max) + " bytes";
  if (rule.chars_min > 0 && text.empty()) return "must not be empty";
  if (text.size() <= rule.chars_max) return std::nullopt;  // a code point is at least a byte
  if (utf8_length(text) > rule.chars_max) return "must be at most " + std::to_string(rule.chars_max) + " characters";
  return std::nullopt;
}

// What is wrong with the name of a variable, in words.
std::optional<std::string> fault_of_env_name(std::string_view name) {
  const bool is_name = !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name) return "the name must be letters, digits and _, and not begin with a digit";
  if (name.size() > limits::env_name_chars_max) {
    return "the name must be at most " + std::to_string(limits::env_name_chars_max) + " characters";
  }
  // The first would change what programs load, the second what we say to them.
  if (name.starts_with("LD_") || name.starts_with("SLUICE_"))
    return "names that begin with LD_ or SLUICE_ are not free";
  return std::nullopt;
}

// Comparing spellings takes time; a body of a million unknown names must not.
constexpr int unknown_names_max = 20;
constexpr std::size_t unknown_name_bytes_max = 64;

}  // namespace

void Findings::note_unknown(std::string_view name, std::string pointer, NameList known) {
  if (name.size() > unknown_name_bytes_max || unknown_count++ >= unknown_names_max) return;
  if (const auto meant = nearest(name, known)) near_misses.push_back({std::move(pointer), *meant});
}

Fields::Fields(Value object, std::string at, NameList known, Findings& findings)
    : object_(object), at_(std::move(at)), findings_(findings) {
  if (object_.kind() != Kind::object) {
    findings_.refuse(at_, "must be an object");
    return;
  }
  object_.each_member([&](std::string_view name, Value) {
    if (std::ranges::find(known, name) != known.end()) return;
    findings_.note_unknown(name, pointer(name), known);
  });
}

bool Fields::null(std::string_view name) const {
  const auto found = object_.find(name);
  return found && found->is_null();
}

bool Fields::is_text(std::string_view name) const {
  const auto found = object_.find(name);
  return found && found->kind() == Kind::string;
}

std::string Fields::pointer(std::string_view name) const { return model::pointer_to(at_, name); }

void Fields::refuse(std::string_view name, std::string message) const {
  findings_.refuse(pointer(name), std::move(message));
}

void Fields::refuse_at(std::string_view inner, std::string message) const {
  findings_.refuse(at_ + "/" + std::string(inner), std::move(message));
}

void Fields::require(std::string_view name) const {
  if (object_.kind() == Kind::object && (!given(name) || null(name))) refuse(name, "is required");
}

std::optional<Value> Fields::value(std::string_view name, Kind kind, Null null) const {
  const auto found = object_.find(name);
  if (!found) return std::nullopt;
  if (found->is_null()) {
    if (null == Null::refused) refuse(name, "must not be null");
    return std::nullopt;
  }
  if (found->kind() != kind) {
    refuse(name, "must be " + with_article(kind) + ", not " + with_article(found->kind()));
    return std::nullopt;
  }
  return found;
}

std::optional<std::string> Fields::text(std::string_view name, TextRule rule, Null null) const {
  const auto found = value(name, Kind::string, null);
  if (!found) return std::nullopt;
  const std::string_view text = *found->string();
  if (auto fault = fault_of(text, rule)) {
    refuse(name, std::move(*fault));
    return std::nullopt;
  }
  return std::string(text);
}

std::optional<std::optional<std::string>> Fields::text_or_cleared(std::string_view name, TextRule rule) const {
  if (null(name)) return std::optional<std::string>{};
  auto found = text(name, rule);
  if (!found) return std::nullopt;
  return std::optional(std::move(found));
}

std::optional<bool> Fields::boolean(std::string_view name, Null null) const {
  const auto found = value(name, Kind::boolean, null);
  return found ? found->boolean() : std::nullopt;
}

std::optional<std::string> Fields::object_text(std::string_view name) const {
  const auto found = value(name, Kind::object, Null::as_absent);
  return found ? std::optional(found->to_text()) : std::nullopt;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t least, int64_t most) const {
  const auto found = value(name, Kind::integer, Null::as_absent);
  if (!found) return std::nullopt;
  const auto number = found->integer();
  if (number && *number >= least && *number <= most) return number;
  refuse(name, "must be from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Fields::integers(std::string_view name, int64_t least, int64_t most,
                                                     std::size_t count_max) const {
  const auto found = value(name, Kind::array, Null::as_absent);
  if (!found) return std::nullopt;
  if (found->size() > count_max) {
    refuse(name, "must have at most " + std::to_string(count_max) + " elements");
    return std::nullopt;
  }
  std::vector<int64_t> out;
  std::size_t index = 0;
  found->each_element([&](Value element) {
    std::string at = model::pointer_to(pointer(name), std::to_string(index++));
    const auto number = element.integer();
    if (number && *number >= least && *number <= most) return out.push_back(*number);
    findings_.refuse(std::move(at), "must be from " + std::to_string(least) + " to " + std::to_string(most));
  });
  return out;
}

std::optional<model::Metadata> Fields::metadata(std::string_view name) const {
  const auto found = value(name, Kind::object, Null::as_absent);
  if (!found) return std::nullopt;
  if (found->size() > limits::metadata_keys_max) {
    refuse(name, "must have at most " + std::to_string(limits::metadata_keys_max) + " keys");
    return std::nullopt;
  }
  const Fields inner(*found, pointer(name), {}, findings_);
  model::Metadata out;
  found->each_member([&](std::string_view key, Value) {
    if (const auto fault = fault_of(key, {.chars_min = 1, .chars_max = limits::metadata_key_chars_max})) {
      return inner.refuse(key, "the key " + *fault);
    }
    auto text = inner.text(key, {.chars_max = limits::metadata_value_chars_max}, Null::refused);
    if (text) out.emplace(key, std::move(*text));
  });
  return out;
}

std::optional<std::map<std::string, std::string>> Fields::env(std::string_view name) const {
  const auto found = value(name, Kind::object, Null::as_absent);
  if (!found) return std::nullopt;
  if (found->size() > limits::env_entries_max) {
    refuse(name, "must have at most " + std::to_string(limits::env_entries_max) + " entries");
    return std::nullopt;
  }
  const Fields inner(*found, pointer(name), {}, findings_);
  std::map<std::string, std::string> out;
  found->each_member([&](std::string_view key, Value) {
    if (auto fault = fault_of_env_name(key)) return inner.refuse(key, std::move(*fault));
    auto text = inner.text(key, {.chars_max = limits::env_value_bytes_max, .bytes_max = limits::env_value_bytes_max},
                           Null::refused);
    if (text) out.emplace(key, std::move(*text));
  });
  return out;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view name, std::size_t count_max,
                                                      TextRule rule) const {
  const auto found = value(name, Kind::array, Null::as_absent);
  if (!found) return std::nullopt;
  if (found->size() > count_max) {
    refuse(name, "must have at most " + std::to_string(count_max) + " elements");
    return std::nullopt;
  }
  std::vector<std::string> out;
  std::size_t index = 0;
  found->each_element([&](Value element) {
    std::string at = model::pointer_to(pointer(name), std::to_string(index++));
    const auto text = element.string();
    if (!text) return findings_.refuse(std::move(at), "must be a string");
    if (auto fault = fault_of(*text, rule)) return findings_.refuse(std::move(at), std::move(*fault));
    out.emplace_back(*text);
  });
  return out;
}

std::optional<Fields> Fields::object(std::string_view name, NameList known, Null null) const {
  const auto found = value(name, Kind::object, null);
  if (!found) return std::nullopt;
  return Fields(*found, pointer(name), known, findings_);
}

std::optional<std::vector<Fields>> Fields::objects(std::string_view name, NameList known, std::size_t count_max) const {
  const auto found = value(name, Kind::array, Null::as_absent);
  if (!found) return std::nullopt;
  if (found->size() > count_max) {
    refuse(name, "must have at most " + std::to_string(count_max) + " elements");
    return std::nullopt;
  }
  std::vector<Fields> out;
  found->each_element([&](Value element) {
    std::string at = model::pointer_to(pointer(name), std::to_string(out.size()));
    out.emplace_back(element, std::move(at), known, findings_);
  });
  return out;
}

std::vector<std::string> Fields::names() const {
  std::vector<std::string> out;
  object_.each_member([&](std::string_view name, Value) { out.emplace_back(name); });
  return out;
}

}  // namespace sluice::api
