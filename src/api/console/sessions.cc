// Sessions of the console: the identity behind a request's cookie, logging in and out, and choosing the tenant that an
// admin acts in.
#include "api/console/console.h"
#include "api/handlers.h"
#include "api/request/audit.h"
#include "api/request/reading.h"
#include "base/digest.h"

namespace sluice::api::console {
namespace {

constexpr std::string_view login_names[] = {"key", "code"};
constexpr std::string_view update_names[] = {"tenantId"};

bool changes_something(std::string_view method) { return method != "GET" && method != "HEAD"; }

// "https://host:8443" of "https://host:8443/sluice".
std::string_view origin_of(std::string_view url) {
  const auto host = url.find("://");
  return host == std::string_view::npos ? std::string_view() : url.substr(0, url.find('/', host + 3));
}

std::optional<std::string_view> cookie_in(const RequestContext& request) {
  return find_cookie(request.http().headers, cookie_name(request.services().options.public_base_url));
}

bool is_own_origin(const RequestContext& request, std::string_view origin) {
  const auto own = origin_of(request.services().options.public_base_url);
  if (origin == own) return true;
  const auto host = request.header("Host").value_or("");
  if (host.empty()) return false;
  // A proxy may speak TLS for us. But where TLS is spoken, a page that came without it is not ours.
  return origin == "https://" + std::string(host) ||
         (!own.starts_with("https://") && origin == "http://" + std::string(host));
}

void identify_admin(const RequestPtr& request, const Session& session, const AdminSession& admin,
                    Callback<void(Result<Identity>)> done) {
  const auto access = request->route()->access;
  if (access == Access::admin || access == Access::metrics || !admin.tenant) return done(Identity{Operator{}});
  store::tenant(request->database(), *admin.tenant,
                [request, id = session.id, done = std::move(done)](Result<model::Tenant> tenant) mutable {
                  if (!tenant) return done(std::move(tenant.error()));
                  // No key of the tenant's: what a session promises twice (I-19) is its own.
                  store::KeyHolder holder{.tenant = std::move(tenant).take()};
                  holder.key = {.id = {id}, .tenant_id = holder.tenant.id, .name = "console"};
                  request->caller().is_operator = true;
                  done(Identity{std::make_shared<const store::KeyHolder>(std::move(holder))});
                });
}

// The session of the request's cookie, if it is valid.
std::optional<Session> session_of(const RequestContext& request) {
  const auto cookie = cookie_in(request);
  if (!cookie) return std::nullopt;
  const auto& console = request.services().console;
  auto session = console.seal.open(*cookie, request.now());
  if (session && console.closed.has(session->id)) return std::nullopt;
  return session;
}

// Browsers name the origin of the page that sends a request. The reason why that is not a page of this server; empty if
// it is, or if no origin is named.
std::string_view fault_of_origin(const RequestContext& request) {
  if (const auto site = request.header("Sec-Fetch-Site"); site && *site != "same-origin" && *site != "none") {
    return "The page that asks is not of this server (Sec-Fetch-Site).";
  }
  const auto origin = request.header("Origin");
  if (origin && (request.is_repeated("Origin") || !is_own_origin(request, *origin))) {
    return "The page that asks is not of this server (Origin).";
  }
  return {};
}

// The same, and whether the page knows the token that only our own pages can read. Requests that change nothing need
// none.
std::string_view fault_of(const RequestContext& request, const Session& session) {
  if (!changes_something(request.http().method)) return {};
  const auto token = request.header("X-CSRF-Token");
  if (!token) return "A session's request that changes something needs the header X-CSRF-Token.";
  if (request.is_repeated("X-CSRF-Token") ||
      !equal_in_constant_time(*token, request.services().console.seal.csrf_token(session))) {
    return "This X-CSRF-Token is not the session's: GET /console/session tells it.";
  }
  return fault_of_origin(request);
}

void identify_owner(const RequestPtr& request, const Session& session, Callback<void(Result<Identity>)> done) {
  if (const auto* admin = std::get_if<AdminSession>(&session.of)) {
    return identify_admin(request, session, *admin, std::move(done));
  }
  request->services().authentication.identify_key(std::get<ServiceSession>(session.of).key_sha256, std::move(done));
}

std::string cookie_header(const RequestPtr& request, std::string_view value, int64_t seconds) {
  const auto& base_url = request->services().options.public_base_url;
  auto header = cookie_name(base_url) + "=" + std::string(value) +
                "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(seconds);
  if (base_url.starts_with("https://")) header += "; Secure";
  return header;
}

std::string session_json(const RequestPtr& request, const Session& session,
                         const std::optional<model::Tenant>& tenant) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("kind").string(std::holds_alternative<AdminSession>(session.of) ? "admin" : "service");
  writer.key("tenant");
  if (tenant) {
    writer.begin_object().key("id").string(tenant->id.text()).key("name").string(tenant->name).end_object();
    writer.key("workspaceId").string(model::WorkspaceId{tenant->id.ulid}.text());
  } else {
    writer.null().key("workspaceId").null();
  }
  writer.key("csrfToken").string(request->services().console.seal.csrf_token(session));
  writer.key("expiresAt").integer(session.expires_at.ms).end_object();
  return out;
}

void answer_session(const RequestPtr& request, const Session& session, const std::optional<model::Tenant>& tenant,
                    bool sets_cookie) {
  net::Headers headers{{"Cache-Control", "no-store"}};
  if (sets_cookie) {
    const auto cookie = request->services().console.seal.cookie_of(session);
    headers.add("Set-Cookie", cookie_header(request, cookie, (session.expires_at.ms - request->now().ms + 999) / 1000));
  }
  request->answer_json(200, session_json(request, session, tenant), std::move(headers));
}

void record(const RequestPtr& request, std::string action, const Session& session, const std::string& actor,
            std::optional<model::TenantId> tenant, std::string_view by, Callback<void()> then) {
  model::AuditEntry entry{.tenant_id = tenant, .action = std::move(action), .actor = actor};
  entry.subject = "console_session:";
  append_ulid(entry.subject, session.id);
  if (!by.empty()) {
    json::Writer(entry.detail)
        .begin_object()
        .key("by")
        .string(by)
        .key("peer")
        .string(request->http().peer)
        .end_object();
  }
  api::record(request, std::move(entry), std::move(then));
}

Session fresh_session(const RequestPtr& request, std::variant<AdminSession, ServiceSession> of) {
  Session session{.expires_at = {request->now().ms + session_ms}, .of = std::move(of)};
  request->services().needs.entropy.fill(session.id.bytes);
  return session;
}

void admit(const RequestPtr& request, const Session& session, const std::string& actor,
           const std::optional<model::Tenant>& tenant, std::string_view by) {
  const auto tenant_id = tenant ? std::optional(tenant->id) : std::nullopt;
  record(request, "console.login", session, actor, tenant_id, by,
         [request, session, tenant] { answer_session(request, session, tenant, true); });
}

constexpr std::string_view wrong_key = "This does not open the console.";
// Tells nothing that the code itself does not.
constexpr std::string_view wrong_code =
    "This link was used already, or is older than an hour. `sluice console` prints another.";

// Never which part was wrong.
void turn_away(const RequestPtr& request, std::string_view words) {
  auto& services = request->services();
  if (request->may_log()) {
    services.needs.log.write(world::LogLevel::warn, "console login refused",
                             {{"peer", request->http().peer}, {"request_id", request->request_id()}});
  }
  request->turn_away(model::Slug::unauthenticated, words);
}

void log_in_with_code(const RequestPtr& request, std::string_view code) {
  auto& services = request->services();
  if (!services.console.codes.spend(code)) return turn_away(request, wrong_code);
  const auto home = services.options.console_tenant;
  if (!home) return admit(request, fresh_session(request, AdminSession{}), "admin", {}, "code");
  store::tenant(request->database(), *home, [request](Result<model::Tenant> found) {
    const auto tenant = found ? std::optional(std::move(found).take()) : std::nullopt;
    AdminSession admin;
    if (tenant) admin.tenant = tenant->id;
    admit(request, fresh_session(request, admin), "admin", tenant, "code");
  });
}

void log_in_with_key(const RequestPtr& request, const std::string& key) {
  request->services().authentication.identify("Bearer " + key, [request](Result<Identity> identity) {
    if (!identity) return request->fail(identity.error());
    if (std::holds_alternative<Operator>(identity.value())) {
      return admit(request, fresh_session(request, AdminSession{}), "admin", {}, "key");
    }
    const auto* holder = std::get_if<Holder>(&identity.value());
    if (holder == nullptr) return turn_away(request, wrong_key);
    const auto& found = **holder;
    admit(request, fresh_session(request, ServiceSession{found.key.secret_sha256}),
          "service_key:" + found.key.id.text(), found.tenant, "key");
  });
}

void refuse_without_session(const RequestPtr& request) {
  request->problem(model::Slug::unauthenticated,
                   "There is no session, or it is over: log in with POST /console/session.");
}

// Calls `then` with the session's tenant, if it has one, or says that there is no such session.
void with_tenant(const RequestPtr& request, const Session& session, Callback<void(std::optional<model::Tenant>)> then) {
  identify_owner(request, session, [request, then = std::move(then)](Result<Identity> identity) mutable {
    if (!identity) return request->fail(identity.error());
    if (std::holds_alternative<Operator>(identity.value())) return then(std::nullopt);
    const auto* holder = std::get_if<Holder>(&identity.value());
    if (holder == nullptr) return refuse_without_session(request);
    then((*holder)->tenant);
  });
}

}  // namespace

void open_session(const RequestPtr& request) {
  if (const auto fault = fault_of_origin(*request); !fault.empty()) {
    return request->problem(model::Slug::csrf, fault);
  }
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", login_names, findings);
  const auto key = fields.text("key", name_rule);
  const auto code = fields.text("code", name_rule);
  if (findings.errors.empty() && key.has_value() == code.has_value())
    fields.refuse("key", "or code is needed, not both");
  if (refused(request, findings)) return;
  key ? log_in_with_key(request, *key) : log_in_with_code(request, *code);
}

void get_session(const RequestPtr& request) {
  const auto session = session_of(*request);
  if (!session) return refuse_without_session(request);
  with_tenant(request, *session, [request, session](const std::optional<model::Tenant>& tenant) {
    answer_session(request, *session, tenant, false);
  });
}

void update_session(const RequestPtr& request) {
  auto session = session_of(*request);
  if (!session) return refuse_without_session(request);
  if (const auto fault = fault_of(*request, *session); !fault.empty())
    return request->problem(model::Slug::csrf, fault);
  auto* admin = std::get_if<AdminSession>(&session->of);
  if (admin == nullptr) {
    return request->problem(model::Slug::insufficient_scope, "A service key's session stays with its tenant.");
  }
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", update_names, findings);
  const auto given = fields.text("tenantId", {});
  if (!fields.null("tenantId")) fields.require("tenantId");
  const auto id = given ? model::TenantId::parse(*given) : std::nullopt;
  if (given && !id) fields.refuse("tenantId", "is not the id of a tenant");
  if (refused(request, findings)) return;
  admin->tenant = id;
  if (!id) return answer_session(request, *session, std::nullopt, true);
  store::tenant(request->database(), *id, [request, session](const Result<model::Tenant>& tenant) {
    if (!tenant) return request->fail(tenant.error());
    record(request, "console.tenant_chosen", *session, "admin", tenant.value().id, "",
           [request, session, chosen = tenant.value()] { answer_session(request, *session, chosen, true); });
  });
}

void close_session(const RequestPtr& request) {
  const auto session = session_of(*request);
  if (session) {
    if (const auto fault = fault_of(*request, *session); !fault.empty())
      return request->problem(model::Slug::csrf, fault);
    request->services().console.closed.add(session->id);
  }
  request->answer(204, "", "", {{"Cache-Control", "no-store"}, {"Set-Cookie", cookie_header(request, "", 0)}});
}

void create_code(const RequestPtr& request) {
  auto& services = request->services();
  const auto code = services.console.codes.make();
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("object").string("console_code").key("code").string(code);
  writer.key("url").string(services.options.public_base_url + "/console/#code=" + code);
  writer.key("expires_at").string(to_rfc3339({request->now().ms + LoginCodes::good_us / 1000})).end_object();
  record_of_operator(request, {.action = "console.code_made", .subject = "console"},
                     [request, out] { request->answer_json(201, out, {{"Cache-Control", "no-store"}}); });
}

bool has_cookie(const RequestContext& request) { return cookie_in(request).has_value(); }

void identify_session(const RequestPtr& request, Callback<void(Result<Identity>)> then) {
  const auto session = session_of(*request);
  if (!session) return then(Identity{Unknown{}});
  if (const auto fault = fault_of(*request, *session); !fault.empty()) {
    return request->problem(model::Slug::csrf, fault);
  }
  identify_owner(request, *session, std::move(then));
}

// The console's page and its parts. The page has many addresses, which it reads itself.
void get_page(const RequestPtr& request) {
  const auto* page = request->services().console.assets.find("index.html");
  if (page != nullptr) return answer_asset(request, *page, {{"Cache-Control", "no-cache"}});
  request->problem(model::Slug::not_found, "This server was built without its console (SLUICE_CONSOLE=OFF).");
}

void get_asset(const RequestPtr& request) {
  // The names of assets contain a hash of their content.
  const auto* asset = request->services().console.assets.find("assets/" + std::string(request->path_param(0)));
  if (asset == nullptr) return request->not_found();
  answer_asset(request, *asset, {{"Cache-Control", "public, max-age=31536000, immutable"}});
}

}  // namespace sluice::api::console
