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

int64_t WrongTries::wait_seconds(const std::string& peer) {
  forget_old();
  const auto found = of_peer_.find(peer);
  if (in_all_ < in_all_max && (found == of_peer_.end() || found->second < of_peer_max)) return 0;
  return (began_us_ + span_us - loop_.monotonic_us()) / 1'000'000 + 1;
}

void WrongTries::add(const std::string& peer) {
  forget_old();
  if (in_all_++ == 0) began_us_ = loop_.monotonic_us();
  ++of_peer_[peer];
}

void WrongTries::forget_old() {
  if (in_all_ == 0 || loop_.monotonic_us() - began_us_ < span_us) return;
  in_all_ = 0;
  of_peer_.clear();
}

}  // namespace sluice::api::console
