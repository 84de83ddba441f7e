// Reads JSON objects into checked values and collects everything that is invalid, so that a client does not find its
// mistakes one request at a time. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/limits.h"
#include "model/model.h"

namespace sluice::api {

struct Findings {
  struct NearMiss {
    std::string given;
    std::string_view meant;
  };
  model::FieldErrors errors;
  std::vector<NearMiss> near_misses;  // ignored names that resemble known ones
  int unknown_count = 0;

  // `name` is none of `known`; `pointer` is where it stands.
  void note_unknown(std::string_view name, std::string pointer, std::span<const std::string_view> known);
  void refuse(std::string pointer, std::string message) { errors.push_back({std::move(pointer), std::move(message)}); }
};

struct TextRule {
  std::size_t chars_min = 0;
  std::size_t chars_max = limits::name_chars_max;  // counted in code points
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
};
inline constexpr TextRule name_rule{.chars_min = 1};
inline constexpr TextRule title_rule{};

// The meaning of an explicit null.
enum class Null : uint8_t {
  as_absent,
  refused,
};

using NameList = std::span<const std::string_view>;

// One JSON object and the names it may have.
class Fields final {
 public:
  // `at` is the object's own JSON pointer.
  Fields(json::Value object, std::string at, NameList known, Findings& findings);

  // The same object with other findings.
  Fields judged_in(Findings& findings) const { return {object_, at_, {}, findings}; }

  bool given(std::string_view name) const { return object_.find(name).has_value(); }
  bool null(std::string_view name) const;
  bool is_text(std::string_view name) const;
  std::string pointer(std::string_view name) const;
  void refuse(std::string_view name, std::string message) const;
  // `inner` is a pointer from here, already escaped: "skill_ids/2".
  void refuse_at(std::string_view inner, std::string message) const;
  void require(std::string_view name) const;

  // Each is empty if the field is absent, null or invalid; what is invalid is in the findings.
  std::optional<std::string> text(std::string_view name, TextRule rule, Null null = Null::as_absent) const;
  std::optional<bool> boolean(std::string_view name, Null null = Null::as_absent) const;
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name, int64_t least, int64_t most,
                                               std::size_t count_max) const;
  std::optional<model::Metadata> metadata(std::string_view name) const;
  std::optional<std::vector<std::string>> texts(std::string_view name, std::size_t count_max,
                                                TextRule rule = name_rule) const;
  std::optional<std::map<std::string, std::string>> env(std::string_view name) const;
  std::optional<Fields> object(std::string_view name, NameList known, Null null = Null::as_absent) const;
  // A list of objects.
  std::optional<std::vector<Fields>> objects(std::string_view name, NameList known, std::size_t count_max) const;
  // An object whose members the client chooses, as compact JSON.
  std::optional<std::string> object_text(std::string_view name) const;
  // The names of all members, known or not, in order.
  std::vector<std::string> names() const;

  // One of a few words. `named` finds the value of a word, `words` lists them for the error.
  template <typename Word>
  std::optional<Word> word(std::string_view name, std::optional<Word> (*named)(std::string_view),
                           std::string_view words) const {
    const auto given_text = text(name, {}, Null::refused);
    if (!given_text) return std::nullopt;
    const auto found = named(*given_text);
    if (!found) refuse(name, "must be one of " + std::string(words));
    return found;
  }
  template <typename AnyId>
  std::optional<AnyId> id(std::string_view name, std::string_view what, Null null = Null::as_absent) const {
    const auto given_text = text(name, {}, null);
    if (!given_text) return std::nullopt;
    const auto found = AnyId::parse(*given_text);
    // All zeros means that no id is named; no object has that id.
    if (found && *found != AnyId{}) return found;
    refuse(name, "is not the id of " + std::string(what));
    return std::nullopt;
  }

  // For a merge. Outer empty: unchanged; inner empty: cleared.
  std::optional<std::optional<std::string>> text_or_cleared(std::string_view name, TextRule rule) const;

 private:
  // The value, if the field is there, not null, and of that kind.
  std::optional<json::Value> value(std::string_view name, json::Kind kind, Null null) const;

  json::Value object_;
  std::string at_;
  Findings& findings_;
};

}  // namespace sluice::api
