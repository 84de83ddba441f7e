#include "api/console/guard.h"

#include "base/digest.h"

namespace sluice::api::console {
namespace {

constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

bool changes_something(std::string_view method) { return method != "GET" && method != "HEAD"; }

// "https://host:8443" of "https://host:8443/sluice".
std::string_view origin_of(std::string_view url) {
  const auto host = url.find("://");
  return host == std::string_view::npos ? std::string_view() : url.substr(0, url.find('/', host + 3));
}

std::optional<std::string_view> cookie_in(const RequestContext& asked) {
  return find_cookie(asked.request().headers, cookie_name(asked.surface().options.public_base_url));
}

bool is_own_origin(const RequestContext& asked, std::string_view origin) {
  const auto own = origin_of(asked.surface().options.public_base_url);
  if (origin == own) return true;
  const auto host = asked.header("Host").value_or("");
  if (host.empty()) return false;
  // A proxy may speak TLS for us. But where TLS is spoken, a page that came without it is not ours.
  return origin == "https://" + std::string(host) ||
         (!own.starts_with("https://") && origin == "http://" + std::string(host));
}

void identify_admin(const Asked& asked, const Session& session, const AdminSession& admin,
                    Callback<void(Result<Identity>)> done) {
  const auto access = asked->route()->access;
  if (access == Access::admin || access == Access::metrics || !admin.tenant) return done(Identity{Operator{}});
  asked->store().tenant(*admin.tenant,
                        [asked, id = session.id, done = std::move(done)](Result<model::Tenant> tenant) mutable {
                          if (!tenant) return done(std::move(tenant.error()));
                          // No key of the tenant's: what a session promises twice (I-19) is its own.
                          store::KeyHolder holder{.tenant = std::move(tenant).take()};
                          holder.key = {.id = {id}, .tenant_id = holder.tenant.id, .name = "console"};
                          asked->set_admin_acts();
                          done(Identity{std::make_shared<const store::KeyHolder>(std::move(holder))});
                        });
}

}  // namespace

void add_page_headers(net::Headers& headers, bool over_tls) {
  headers.add("Content-Security-Policy", page_policy);
  headers.add("X-Frame-Options", "DENY");
  if (!headers.find("X-Content-Type-Options")) headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Referrer-Policy", "no-referrer");
  // A browser that was here once comes by https ever after, however it is sent here.
  if (over_tls) headers.add("Strict-Transport-Security", "max-age=31536000");
}

bool is_of_console(std::string_view path) { return path == "/console" || path.starts_with("/console/"); }

bool has_cookie(const RequestContext& asked) { return cookie_in(asked).has_value(); }

std::optional<Session> session_of(const RequestContext& asked) {
  const auto cookie = cookie_in(asked);
  if (!cookie) return std::nullopt;
  const auto& console = asked.surface().console;
  auto session = console.seal.open(*cookie, asked.now());
  if (session && console.closed.has(session->id)) return std::nullopt;
  return session;
}

std::string_view fault_of_origin(const RequestContext& asked) {
  if (const auto site = asked.header("Sec-Fetch-Site"); site && *site != "same-origin" && *site != "none") {
    return "The page that asks is not of this server (Sec-Fetch-Site).";
  }
  const auto origin = asked.header("Origin");
  if (origin && (asked.is_repeated("Origin") || !is_own_origin(asked, *origin))) {
    return "The page that asks is not of this server (Origin).";
  }
  return {};
}

std::string_view fault_of(const RequestContext& asked, const Session& session) {
  if (!changes_something(asked.request().method)) return {};
  const auto token = asked.header("X-CSRF-Token");
  if (!token) return "A session's request that changes something needs the header X-CSRF-Token.";
  if (asked.is_repeated("X-CSRF-Token") ||
      !equal_in_constant_time(*token, asked.surface().console.seal.csrf_token(session))) {
    return "This X-CSRF-Token is not the session's: GET /console/session tells it.";
  }
  return fault_of_origin(asked);
}

void identify(const Asked& asked, const Session& session, Callback<void(Result<Identity>)> done) {
  if (const auto* admin = std::get_if<AdminSession>(&session.of)) {
    return identify_admin(asked, session, *admin, std::move(done));
  }
  asked->surface().authentication.identify_key(std::get<ServiceSession>(session.of).key_sha256, std::move(done));
}

}  // namespace sluice::api::console
