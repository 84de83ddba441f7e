#include "api/answers/pages.h"
#include "api/answers/streaming.h"
#include "api/handlers.h"
#include "api/request/request_context.h"
#include "net/net.h"
#include "notices/notices.h"

namespace sluice::api::admin {
namespace {

constexpr std::string_view settings_names[] = {"filler_enabled",
                                               "weight",
                                               "max_running",
                                               "max_held",
                                               "max_concurrent_sticky",
                                               "max_sticky_ttl_seconds",
                                               "webhook_url",
                                               "require_bound_decisions",
                                               "agui_unsigned_approvals"};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2048};
constexpr int64_t count_max = 1'000'000;

model::TenantLimits read_limits(const Fields& settings, const model::TenantLimits& before) {
  model::TenantLimits out = before;
  const auto read = [&](std::string_view name, int64_t least, int64_t most, int64_t& into) {
    if (settings.null(name)) return settings.refuse(name, "must not be null");
    into = settings.integer(name, least, most).value_or(into);
  };
  read("weight", 1, 1'000, out.weight);
  read("max_running", 0, count_max, out.max_running);
  read("max_held", 0, count_max, out.max_held);
  read("max_concurrent_sticky", 0, count_max, out.max_concurrent_sticky);
  read("max_sticky_ttl_seconds", model::sticky_ttl_seconds_min, model::sticky_ttl_seconds_max,
       out.max_sticky_ttl_seconds);
  return out;
}

void check_webhook_url(const Fields& settings, const std::string& url, std::span<const std::string> webhook_urls) {
  if (!net::is_plain_url(url)) {
    settings.refuse("webhook_url", "must be an http or https URL without credentials, query or fragment");
  } else if (!net::is_allowed(url, webhook_urls)) {
    settings.refuse("webhook_url", "is not among the URLs that this server is configured to call");
  }
}

void read_settings(const Fields& fields, const model::Tenant& before, std::span<const std::string> webhook_urls,
                   store::TenantPatch& patch) {
  if (fields.null("settings")) {
    patch.filler_enabled = patch.agui_unsigned_approvals = false;
    patch.require_bound_decisions = true;
    patch.limits = model::TenantLimits{};
    patch.webhook_url = std::optional<std::string>{};
    return;
  }
  const auto settings = fields.object("settings", settings_names);
  if (!settings) return;
  patch.filler_enabled = settings->boolean("filler_enabled", Null::refused);
  patch.require_bound_decisions = settings->boolean("require_bound_decisions", Null::refused);
  patch.agui_unsigned_approvals = settings->boolean("agui_unsigned_approvals", Null::refused);
  patch.limits = read_limits(*settings, before.limits);
  patch.webhook_url = settings->text_or_cleared("webhook_url", url_rule);
  if (patch.webhook_url && *patch.webhook_url) check_webhook_url(*settings, **patch.webhook_url, webhook_urls);
}

constexpr std::string_view create_names[] = {"name", "metadata", "settings"};
constexpr std::string_view update_names[] = {"name", "metadata", "settings", "status"};

// What answers before the tenant has an agent of its own making.
model::Agent default_agent_of(const RequestPtr& request, const model::Tenant& tenant) {
  model::Agent agent;
  agent.id = request->ids().make<model::AgentId>();
  agent.tenant_id = tenant.id;
  agent.name = "default";
  agent.model = request->services().options.default_model;
  agent.is_default = true;
  agent.created_at = agent.updated_at = tenant.created_at;
  return agent;
}

// What is left out of `settings` is as it was.
void patch_tenant(const RequestPtr& request, const json::Document& body, const model::Tenant& before) {
  Findings findings;
  const Fields fields(body.root(), "", update_names, findings);
  store::TenantPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.status = fields.word("status", model::tenant_status_named, "active, suspended");
  patch.metadata = fields.null("metadata") ? model::Metadata{} : fields.metadata("metadata");
  read_settings(fields, before, request->services().options.webhook_urls, patch);
  if (refused(request, findings)) return;

  store::update_tenant(request->database(), before.id, std::move(patch), request->now(),
                       [request](const Result<model::Tenant>& tenant) {
                         // Also when it failed: the outcome may be unknown.
                         request->services().authentication.forget();
                         if (!tenant) return request->fail(tenant.error());
                         request->answer_json(200, model::to_json(tenant.value()));
                       });
}

}  // namespace

void list_tenants(const RequestPtr& request) {
  const auto query = read_page_query<model::TenantId>(request);
  if (!query) return;
  store::tenants(request->database(), *query, [request, query](const Result<store::Page<model::Tenant>>& page) {
    answer_page(request, *query, page);
  });
}

void create_tenant(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", create_names, findings);
  model::Tenant tenant;
  fields.require("name");
  tenant.name = fields.text("name", name_rule).value_or("");
  tenant.metadata = fields.metadata("metadata").value_or(model::Metadata{});
  store::TenantPatch settings;
  read_settings(fields, tenant, request->services().options.webhook_urls, settings);
  if (refused(request, findings)) return;
  tenant.filler_enabled = settings.filler_enabled.value_or(false);
  tenant.require_bound_decisions = settings.require_bound_decisions.value_or(true);
  tenant.agui_unsigned_approvals = settings.agui_unsigned_approvals.value_or(false);
  tenant.limits = settings.limits.value_or(model::TenantLimits{});
  tenant.webhook_url = settings.webhook_url.value_or(std::nullopt);

  tenant.id = request->ids().make<model::TenantId>();
  tenant.created_at = tenant.updated_at = request->now();
  store::create_tenant(request->database(), tenant, default_agent_of(request, tenant),
                       [request, tenant](const Result<Unit>& made) {
                         if (!made) return request->fail(made.error());
                         request->created("/v1/tenants/" + tenant.id.text(), model::to_json(tenant));
                       });
}

void get_tenant(const RequestPtr& request) {
  const auto id = request->path_id<model::TenantId>();
  if (!id) return request->not_found();
  store::tenant(request->database(), *id, [request](const Result<model::Tenant>& tenant) {
    if (!tenant) return request->fail(tenant.error());
    request->answer_json(200, model::to_json(tenant.value()));
  });
}

void update_tenant(const RequestPtr& request) {
  const auto id = request->path_id<model::TenantId>();
  if (!id) return request->not_found();
  auto body = read_body(request);
  if (!body) return;
  store::tenant(request->database(), *id, [request, body = std::move(*body)](const Result<model::Tenant>& before) {
    if (!before) return request->fail(before.error());
    patch_tenant(request, body, before.value());
  });
}

void get_webhook_secret(const RequestPtr& request) {
  const auto id = request->path_id<model::TenantId>();
  if (!id) return request->not_found();
  store::tenant(request->database(), *id, [request](const Result<model::Tenant>& tenant) {
    if (!tenant) return request->fail(tenant.error());
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("object").string("webhook_secret").key("tenant_id").string(tenant.value().id.text());
    const auto& root = request->services().options.webhook_signing_root;
    writer.key("secret").string(notices::webhook_secret(root, tenant.value().id)).end_object();
    request->answer_json(200, std::move(out), {{"Cache-Control", "no-store"}});
  });
}

void cancel_run(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  const auto run = request->path_id<model::RunId>(1);
  if (!tenant || !run) return request->not_found();
  cancel_run_of(request, *tenant, *run);
}

}  // namespace sluice::api::admin
