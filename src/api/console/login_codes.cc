#include "api/console/login_codes.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::api::console {

std::string LoginCodes::make() {
  std::string bytes(16, '\0');
  entropy_.fill({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  auto code = to_base64url(bytes);
  if (kept_.size() == count_max) kept_.pop_front();
  kept_.push_back({sha256(code), loop_.monotonic_us() + good_us});
  return code;
}

bool LoginCodes::spend(std::string_view code) {
  const auto now_us = loop_.monotonic_us();
  std::erase_if(kept_, [&](const Kept& kept) { return kept.until_us <= now_us; });
  const auto digest = sha256(code);
  return std::erase_if(kept_, [&](const Kept& kept) { return equal_in_constant_time(kept.sha256, digest); }) > 0;
}

}  // namespace sluice::api::console
