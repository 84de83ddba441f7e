#include <strings.h>

#include "net/net.h"

namespace sluice::net {

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.name.size() == name.size() && strncasecmp(field.name.data(), name.data(), name.size()) == 0) {
      return field.value;
    }
  }
  return std::nullopt;
}

}  // namespace sluice::net
