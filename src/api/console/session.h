// A session of the console: what its cookie says, and the proof that we said it.
//
// Nothing is stored: a cookie is good after a restart, and it ends by itself. A service key's session bears the
// key's hash, and is looked up with every request like the key itself, so that a revoked key ends its sessions.
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

// "sluice_session_8080". Browsers keep one jar for all ports of a host, so servers that share a machine have names of
// their own. With TLS it begins with "__Host-": then no neighbour in the domain can plant it.
std::string cookie_name(std::string_view public_base_url);
inline constexpr int64_t session_ms = int64_t{12} * 3600 * 1000;

struct AdminSession {
  std::optional<model::TenantId> tenant;  // in which it acts
};
struct ServiceSession {
  std::string key_sha256;  // 32 raw bytes
};

struct Session {
  Ulid id;  // of chance; it stays the same when the session acts in another tenant
  Timestamp expires_at;
  std::variant<AdminSession, ServiceSession> of;
};

// Makes cookies and reads them. `root` is secret, and changes with the admin key.
class SessionSeal final {
 public:
  explicit SessionSeal(std::string root) : root_(std::move(root)) { SLUICE_CHECK(!root_.empty()); }

  std::string cookie_of(const Session& session) const;
  // Empty for what cookie_of() did not write, and for what has expired.
  std::optional<Session> open(std::string_view cookie, Timestamp now) const;
  // What a page must send along with whatever changes something: another site's page cannot read it.
  std::string csrf_token(const Session& session) const;

 private:
  std::string root_;
};

// The session's cookie among those that were sent; empty when there is none, or more than one: then somebody else
// has planted one of them.
std::optional<std::string_view> find_cookie(const net::Headers& headers, std::string_view name);

// In memory, as hashes: a restart forgets them.
class LoginCodes final {
 public:
  static constexpr int64_t good_us = int64_t{3600} * 1'000'000;
  static constexpr std::size_t count_max = 16;  // of more the oldest are forgotten

  LoginCodes(world::Loop& loop, world::Entropy& entropy) : loop_(loop), entropy_(entropy) {}

  std::string make();
  // Is it good? From now on it is not.
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
