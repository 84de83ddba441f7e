#include "flow/members.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::flow {

Members::Members(json::Value object, std::string at, std::span<const std::string_view> known, Faults& faults)
    : object_(object), at_(std::move(at)), faults_(faults) {
  if (object_.kind() != json::Kind::object) {
    faults_.push_back({at_, "must be an object"});
    return;
  }
  if (known.empty()) return;
  object_.each_member([&](std::string_view name, json::Value) {
    if (faults_.has_more() || std::ranges::find(known, name) != known.end()) return;
    const auto meant = nearest(name, known);
    refuse(name, meant ? "is not known; did you mean " + std::string(*meant) + "?" : "is not known");
  });
}

std::optional<json::Value> Members::value(std::string_view name) const {
  const auto found = object_.find(name);
  if (!found || found->is_null()) return std::nullopt;
  return found;
}

bool Members::has(std::string_view name) const { return value(name).has_value(); }

std::optional<json::Value> Members::of_kind(std::string_view name, json::Kind kind, std::string_view what) const {
  const auto found = value(name);
  if (!found) return std::nullopt;
  if (found->kind() == kind) return found;
  refuse(name, "must be " + std::string(what));
  return std::nullopt;
}

std::optional<std::string> Members::text(std::string_view name) const {
  const auto found = of_kind(name, json::Kind::string, "a string");
  if (!found) return std::nullopt;
  return std::string(*found->string());
}

std::string Members::required_text(std::string_view name) const {
  if (!has(name)) refuse(name, "is required");
  auto found = text(name);
  if (found && found->empty()) refuse(name, "must not be empty");
  return found.value_or("");
}

std::optional<bool> Members::boolean(std::string_view name) const {
  const auto found = of_kind(name, json::Kind::boolean, "true or false");
  return found ? found->boolean() : std::nullopt;
}

std::optional<int64_t> Members::integer(std::string_view name, int64_t least, int64_t most) const {
  const auto found = value(name);
  if (!found) return std::nullopt;
  const auto number = found->integer();
  if (number && *number >= least && *number <= most) return number;
  refuse(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

Template Members::words(std::string_view name) const {
  auto parsed = Template::parse(text(name).value_or(""));
  if (parsed) return std::move(parsed).take();
  refuse(name, parsed.error().what);
  return {};
}

Template Members::required_words(std::string_view name) const {
  if (!has(name)) refuse(name, "is required");
  return words(name);
}

std::optional<Members> Members::object(std::string_view name, std::span<const std::string_view> known) const {
  const auto found = of_kind(name, json::Kind::object, "an object");
  if (!found) return std::nullopt;
  return Members(*found, pointer(name), known, faults_);
}

void Members::each_value(std::string_view name, std::size_t count_max,
                         const std::function<void(json::Value value, const std::string& at)>& visit) const {
  const auto found = of_kind(name, json::Kind::array, "a list");
  if (!found) return;
  if (found->size() > count_max) return refuse(name, "must have at most " + std::to_string(count_max) + " elements");
  std::size_t index = 0;
  found->each_element([&](json::Value value) { visit(value, pointer_to(pointer(name), std::to_string(index++))); });
}

void Members::each(std::string_view name, std::size_t count_max, std::span<const std::string_view> known,
                   const std::function<void(const Members&)>& visit) const {
  each_value(name, count_max,
             [&](json::Value element, const std::string& where) { visit(Members(element, where, known, faults_)); });
}

}  // namespace sluice::flow
