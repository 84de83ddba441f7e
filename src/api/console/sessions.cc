// Logging in and out, and choosing the tenant that an admin acts in.
#include "api/admin/deeds.h"
#include "api/console/guard.h"
#include "api/console/handlers.h"
#include "api/fields.h"

namespace sluice::api::console {
namespace {

constexpr std::string_view login_names[] = {"key", "code"};
constexpr std::string_view update_names[] = {"tenantId"};

std::string cookie_header(const Asked& asked, std::string_view value, int64_t seconds) {
  const auto& base_url = asked->surface().options.public_base_url;
  auto header = cookie_name(base_url) + "=" + std::string(value) +
                "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(seconds);
  if (base_url.starts_with("https://")) header += "; Secure";
  return header;
}

std::string session_json(const Asked& asked, const Session& session, const std::optional<model::Tenant>& tenant) {
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
  writer.key("csrfToken").string(asked->surface().console.seal.csrf_token(session));
  writer.key("expiresAt").integer(session.expires_at.ms).end_object();
  return out;
}

void answer_session(const Asked& asked, const Session& session, const std::optional<model::Tenant>& tenant,
                    bool sets_cookie) {
  net::Headers headers{{"Cache-Control", "no-store"}};
  if (sets_cookie) {
    const auto cookie = asked->surface().console.seal.cookie_of(session);
    headers.add("Set-Cookie", cookie_header(asked, cookie, (session.expires_at.ms - asked->now().ms + 999) / 1000));
  }
  asked->answer_json(200, session_json(asked, session, tenant), std::move(headers));
}

void record(const Asked& asked, std::string action, const Session& session, const std::string& actor,
            std::optional<model::TenantId> tenant, std::string_view by, Callback<void()> then) {
  model::AuditEntry entry{.tenant_id = tenant, .action = std::move(action), .actor = actor, .at = asked->now()};
  entry.subject = "console_session:";
  append_ulid(entry.subject, session.id);
  if (!by.empty()) {
    json::Writer(entry.detail)
        .begin_object()
        .key("by")
        .string(by)
        .key("peer")
        .string(asked->request().peer)
        .end_object();
  }
  asked->store().append_audit({std::move(entry)}, [asked, then = std::move(then)](const Result<Unit>& kept) mutable {
    kept ? then() : asked->fail(kept.error());
  });
}

Session fresh_session(const Asked& asked, std::variant<AdminSession, ServiceSession> of) {
  Session session{.expires_at = {asked->now().ms + session_ms}, .of = std::move(of)};
  asked->surface().needs.entropy.fill(session.id.bytes);
  return session;
}

void admit(const Asked& asked, const Session& session, const std::string& actor,
           const std::optional<model::Tenant>& tenant, std::string_view by) {
  const auto tenant_id = tenant ? std::optional(tenant->id) : std::nullopt;
  record(asked, "console.login", session, actor, tenant_id, by,
         [asked, session, tenant] { answer_session(asked, session, tenant, true); });
}

constexpr std::string_view wrong_key = "This does not open the console.";
// Tells nothing that the code itself does not.
constexpr std::string_view wrong_code =
    "This link was used already, or is older than an hour. `sluice console` prints another.";

// Never which part was wrong.
void turn_away(const Asked& asked, std::string_view words) {
  auto& surface = asked->surface();
  if (asked->may_log()) {
    surface.needs.log.write(world::LogLevel::warn, "console login refused",
                            {{"peer", asked->request().peer}, {"request_id", asked->request_id()}});
  }
  asked->turn_away(model::Slug::unauthenticated, words);
}

void log_in_with_code(const Asked& asked, std::string_view code) {
  auto& surface = asked->surface();
  if (!surface.console.codes.spend(code)) return turn_away(asked, wrong_code);
  const auto home = surface.options.console_tenant;
  if (!home) return admit(asked, fresh_session(asked, AdminSession{}), "admin", {}, "code");
  asked->store().tenant(*home, [asked](Result<model::Tenant> found) {
    const auto tenant = found ? std::optional(std::move(found).take()) : std::nullopt;
    AdminSession admin;
    if (tenant) admin.tenant = tenant->id;
    admit(asked, fresh_session(asked, admin), "admin", tenant, "code");
  });
}

void log_in_with_key(const Asked& asked, const std::string& key) {
  asked->surface().authentication.identify("Bearer " + key, [asked](Result<Identity> identity) {
    if (!identity) return asked->fail(identity.error());
    if (std::holds_alternative<Operator>(identity.value())) {
      return admit(asked, fresh_session(asked, AdminSession{}), "admin", {}, "key");
    }
    const auto* holder = std::get_if<Holder>(&identity.value());
    if (holder == nullptr) return turn_away(asked, wrong_key);
    const auto& found = **holder;
    admit(asked, fresh_session(asked, ServiceSession{found.key.secret_sha256}), "service_key:" + found.key.id.text(),
          found.tenant, "key");
  });
}

void refuse_without_session(const Asked& asked) {
  asked->problem(model::Slug::unauthenticated,
                 "There is no session, or it is over: log in with POST /console/session.");
}

// Calls `then` with the session's tenant, if it has one, or says that there is no such session.
void with_tenant(const Asked& asked, const Session& session, Callback<void(std::optional<model::Tenant>)> then) {
  identify(asked, session, [asked, then = std::move(then)](Result<Identity> identity) mutable {
    if (!identity) return asked->fail(identity.error());
    if (std::holds_alternative<Operator>(identity.value())) return then(std::nullopt);
    const auto* holder = std::get_if<Holder>(&identity.value());
    if (holder == nullptr) return refuse_without_session(asked);
    then((*holder)->tenant);
  });
}

}  // namespace

void open_session(const Asked& asked) {
  if (const auto fault = fault_of_origin(*asked); !fault.empty()) {
    return asked->problem(model::Slug::csrf, fault);
  }
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", login_names, findings);
  const auto key = fields.text("key", name_rule);
  const auto code = fields.text("code", name_rule);
  if (findings.errors.empty() && key.has_value() == code.has_value())
    fields.refuse("key", "or code is needed, not both");
  if (refused(asked, findings)) return;
  key ? log_in_with_key(asked, *key) : log_in_with_code(asked, *code);
}

void get_session(const Asked& asked) {
  const auto session = session_of(*asked);
  if (!session) return refuse_without_session(asked);
  with_tenant(asked, *session, [asked, session](const std::optional<model::Tenant>& tenant) {
    answer_session(asked, *session, tenant, false);
  });
}

void update_session(const Asked& asked) {
  auto session = session_of(*asked);
  if (!session) return refuse_without_session(asked);
  if (const auto fault = fault_of(*asked, *session); !fault.empty()) return asked->problem(model::Slug::csrf, fault);
  auto* admin = std::get_if<AdminSession>(&session->of);
  if (admin == nullptr) {
    return asked->problem(model::Slug::insufficient_scope, "A service key's session stays with its tenant.");
  }
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", update_names, findings);
  const auto given = fields.text("tenantId", {});
  if (!fields.null("tenantId")) fields.require("tenantId");
  const auto id = given ? model::TenantId::parse(*given) : std::nullopt;
  if (given && !id) fields.refuse("tenantId", "is not the id of a tenant");
  if (refused(asked, findings)) return;
  admin->tenant = id;
  if (!id) return answer_session(asked, *session, std::nullopt, true);
  asked->store().tenant(*id, [asked, session](const Result<model::Tenant>& tenant) {
    if (!tenant) return asked->fail(tenant.error());
    record(asked, "console.tenant_chosen", *session, "admin", tenant.value().id, "",
           [asked, session, chosen = tenant.value()] { answer_session(asked, *session, chosen, true); });
  });
}

void close_session(const Asked& asked) {
  const auto session = session_of(*asked);
  if (session) {
    if (const auto fault = fault_of(*asked, *session); !fault.empty()) return asked->problem(model::Slug::csrf, fault);
    asked->surface().console.closed.add(session->id);
  }
  asked->answer(204, "", "", {{"Cache-Control", "no-store"}, {"Set-Cookie", cookie_header(asked, "", 0)}});
}

void create_code(const Asked& asked) {
  auto& surface = asked->surface();
  const auto code = surface.console.codes.make();
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("object").string("console_code").key("code").string(code);
  writer.key("url").string(surface.options.public_base_url + "/console/#code=" + code);
  writer.key("expires_at").string(to_rfc3339({asked->now().ms + LoginCodes::good_us / 1000})).end_object();
  admin::record(asked, {.action = "console.code_made", .subject = "console"}, [asked, out] {
    asked->answer_json(201, out, {{"Cache-Control", "no-store"}});
  });
}

}  // namespace sluice::api::console
