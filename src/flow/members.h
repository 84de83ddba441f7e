// Reads the members of one JSON object by name, and reports each wrong one with its JSON pointer. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "flow/template.h"
#include "model/problem.h"

namespace sluice::flow {

using model::pointer_to;

class Members {
 public:
  using Faults = model::FieldErrors;
  // A member that is none of `known` is a fault; empty: any name is known.
  Members(json::Value object, std::string at, std::span<const std::string_view> known, Faults& faults);

  const std::string& at() const { return at_; }
  std::string pointer(std::string_view name) const { return pointer_to(at_, name); }
  void refuse(std::string_view name, std::string message) const { faults_.push_back({pointer(name), message}); }

  bool has(std::string_view name) const;
  // Empty (the words, false, no number) when it is absent or wrong.
  std::optional<std::string> text(std::string_view name) const;
  std::string required_text(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  Template words(std::string_view name) const;
  Template required_words(std::string_view name) const;
  std::optional<json::Value> value(std::string_view name) const;
  // The object of that name, if there is one.
  std::optional<Members> object(std::string_view name, std::span<const std::string_view> known) const;
  // Each object of the list of that name.
  void each(std::string_view name, std::size_t count_max, std::span<const std::string_view> known,
            const std::function<void(const Members&)>& visit) const;
  // Each element of it, whatever that is, and where it stands.
  void each_value(std::string_view name, std::size_t count_max,
                  const std::function<void(json::Value value, const std::string& at)>& visit) const;

 private:
  std::optional<json::Value> of_kind(std::string_view name, json::Kind kind, std::string_view what) const;

  json::Value object_;
  std::string at_;
  Faults& faults_;
};

}  // namespace sluice::flow
