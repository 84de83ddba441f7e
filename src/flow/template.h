// Text with places in it: "Sum up {{blocks.fetch.response}} in {{inputs.language}}." A place names an input or what an
// earlier block gave; nothing is computed, so nothing can be made to run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sluice::flow {

struct InputPlace {
  std::string name;
  bool operator==(const InputPlace&) const = default;
};

enum class BlockField : uint8_t { response, files, status, json };
struct BlockPlace {
  std::string block;
  BlockField field = BlockField::response;
  std::vector<std::string> path;  // into the JSON: names of members, numbers of elements
  bool operator==(const BlockPlace&) const = default;
};

using Place = std::variant<InputPlace, BlockPlace>;
// As it is written between the braces.
std::string text_of(const Place& place);

class Template {
 public:
  Template() = default;
  // `invalid`, in words that follow the member's name, when a place is not closed or not one of those above.
  static Result<Template> parse(std::string_view text);

  const std::vector<std::variant<std::string, Place>>& parts() const { return parts_; }
  // Calls for each place in order.
  void each_place(const std::function<void(const Place&)>& visit) const;

 private:
  std::vector<std::variant<std::string, Place>> parts_;
};

// What stands at a place; `invalid` in words when there is nothing.
using PlaceValue = std::function<Result<std::string>(const Place&)>;
// How a value is written where it stands.
enum class Writing : uint8_t {
  plain,  // as it is
  url,    // percent-encoded, so that it stays within its segment or parameter
};
Result<std::string> render(const Template& text, const PlaceValue& value, std::size_t bytes_max,
                           Writing writing = Writing::plain);

// `^[A-Za-z_][A-Za-z0-9_]{0,63}$`
bool is_input_name(std::string_view text);
// `^[a-z0-9][a-z0-9_-]{0,63}$`
bool is_block_name(std::string_view text);

}  // namespace sluice::flow
