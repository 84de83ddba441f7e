#include "runs/basic_credentials.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::runs {

std::string basic_credentials(std::string_view user, std::string_view password) {
  auto text = to_base64url(std::string(user) + ":" + std::string(password));
  // The alphabet and the padding that base64url leaves out.
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

}  // namespace sluice::runs
