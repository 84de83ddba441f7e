// What the console remembers between two requests.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "api/assets.h"
#include "api/console/login_codes.h"
#include "api/console/session.h"

namespace sluice::api::console {

// Sessions that were closed before their time; a restart forgets them, and so does a flood of others.
class ClosedSessions final {
 public:
  static constexpr std::size_t count_max = 10'000;
  void add(const Ulid& id) {
    if (closed_.size() == count_max) closed_.pop_front();
    closed_.push_back(id);
  }
  bool has(const Ulid& id) const { return std::ranges::find(closed_, id) != closed_.end(); }

 private:
  std::deque<Ulid> closed_;
};

struct Console {
  Console(world::Loop& loop, world::Entropy& entropy, std::string session_root, std::string_view pack)
      : seal(std::move(session_root)), codes(loop, entropy), assets(pack) {}

  SessionSeal seal;
  LoginCodes codes;
  ClosedSessions closed;
  Assets assets;
};

}  // namespace sluice::api::console
