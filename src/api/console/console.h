// The console's own surface: its pages, and the sessions of the people who use them. Everything else that the pages
// show comes from the other surfaces, which accept a session's cookie instead of a key.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "api/answers/assets.h"
#include "api/console/session.h"
#include "api/request/route.h"

namespace sluice::api::console {

// Whether the request has a session's cookie, valid or not.
bool has_cookie(const RequestContext& request);

// The identity behind a session's cookie. An admin's session is the operator on the operator's routes, and elsewhere
// acts for the tenant that it chose; Unknown if there is no valid session. Answers a request that was not made by a
// page of this server; then `then` is not called.
void identify_session(const RequestPtr& request, Callback<void(Result<Identity>)> then);

// Sessions that were closed before they expired. Forgotten by a restart, and when very many others are closed.
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

// What the console remembers between two requests.
struct Console {
  Console(world::Loop& loop, world::Entropy& entropy, std::string session_root, std::string_view pack)
      : seal(std::move(session_root)), codes(loop, entropy), assets(pack) {}

  SessionSeal seal;
  LoginCodes codes;
  ClosedSessions closed;
  Assets assets;
};

}  // namespace sluice::api::console
