#include <strings.h>

#include <algorithm>

#include "net/net.h"

namespace sluice::net {
namespace {

bool is_named(const Header& field, std::string_view name) {
  return field.name.size() == name.size() && strncasecmp(field.name.data(), name.data(), name.size()) == 0;
}

}  // namespace

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (is_named(field, name)) return field.value;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(), [&](const Header& field) { return is_named(field, name); }));
}

}  // namespace sluice::net
