// A session of the console: its cookie, the proof that this server made it, and the codes that open a session. Nothing
// is stored: a cookie is valid after a restart, and it expires. A service key's session contains the key's hash, which
// is looked up with every request like the key itself, so that a revoked key ends its sessions.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/model.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::api::console {

// "sluice_session_8080". Browsers share cookies between all ports of a host, so servers on one machine have names of
// their own. With TLS it begins with "__Host-": then another host of the domain cannot plant it.
std::string cookie_name(std::string_view public_base_url);
inline constexpr int64_t session_ms = int64_t{12} * 3600 * 1000;

struct AdminSession {
  std::optional<model::TenantId> tenant;  // the tenant in which it acts
};
struct ServiceSession {
  std::string key_sha256;  // 32 raw bytes
};

struct Session {
  Ulid id;  // random; stays the same when the session changes to another tenant
  Timestamp expires_at;
  std::variant<AdminSession, ServiceSession> of;
};

// Makes and reads cookies. `root` is secret and changes with the admin key.
class SessionSeal final {
 public:
  explicit SessionSeal(std::string root) : root_(std::move(root)) { SLUICE_CHECK(!root_.empty()); }

  std::string cookie_of(const Session& session) const;
  // Empty if the cookie was not made by cookie_of(), or has expired.
  std::optional<Session> open(std::string_view cookie, Timestamp now) const;
  // The token that a page sends with every request that changes something: a page of another site cannot read it.
  std::string csrf_token(const Session& session) const;

 private:
  std::string root_;
};

// The session's cookie among those of the request. Empty if there is none or more than one, because then someone else
// has planted one.
std::optional<std::string_view> find_cookie(const net::Headers& headers, std::string_view name);

// One-time codes that open the console. They are in memory, as hashes: a restart forgets them.
class LoginCodes final {
 public:
  static constexpr int64_t good_us = int64_t{3600} * 1'000'000;
  static constexpr std::size_t count_max = 16;  // beyond this, the oldest are forgotten

  LoginCodes(world::Loop& loop, world::Entropy& entropy) : loop_(loop), entropy_(entropy) {}

  std::string make();
  // True if the code is valid; from now on it is not.
  bool spend(std::string_view code);

 private:
  struct Kept {
    std::string sha256;
    int64_t until_us;
  };

  world::Loop& loop_;
  world::Entropy& entropy_;
  std::deque<Kept> kept_;
};

}  // namespace sluice::api::console
