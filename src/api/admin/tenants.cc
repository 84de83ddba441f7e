#include "api/admin/handlers.h"
#include "api/admin/tenant_settings.h"
#include "api/pages.h"
#include "notices/notices.h"

namespace sluice::api::admin {
namespace {

constexpr std::string_view create_names[] = {"name", "metadata", "settings"};
constexpr std::string_view update_names[] = {"name", "metadata", "settings", "status"};

// What answers before the tenant has an agent of its own making.
model::Agent default_agent_of(const Asked& asked, const model::Tenant& tenant) {
  model::Agent agent;
  agent.id = asked->ids().make<model::AgentId>();
  agent.tenant_id = tenant.id;
  agent.name = "default";
  agent.model = asked->surface().options.default_model;
  agent.is_default = true;
  agent.created_at = agent.updated_at = tenant.created_at;
  return agent;
}

// What is left out of `settings` is as it was.
void patch_tenant(const Asked& asked, const json::Document& body, const model::Tenant& before) {
  Findings findings;
  const Fields fields(body.root(), "", update_names, findings);
  store::TenantPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.status = fields.word("status", model::tenant_status_named, "active, suspended");
  patch.metadata = fields.null("metadata") ? model::Metadata{} : fields.metadata("metadata");
  read_settings(fields, before, asked->surface().options.webhook_urls, patch);
  if (refused(asked, findings)) return;

  asked->store().update_tenant(before.id, std::move(patch), asked->now(), [asked](const Result<model::Tenant>& tenant) {
    // Also when it failed: the outcome may be unknown.
    asked->surface().authentication.forget();
    if (!tenant) return asked->fail(tenant.error());
    asked->answer_json(200, model::to_json(tenant.value()));
  });
}

}  // namespace

void list_tenants(const Asked& asked) {
  const auto query = read_page_query<model::TenantId>(asked);
  if (!query) return;
  asked->store().tenants(
      *query, [asked, query](const Result<store::Page<model::Tenant>>& page) { answer_page(asked, *query, page); });
}

void create_tenant(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", create_names, findings);
  model::Tenant tenant;
  fields.require("name");
  tenant.name = fields.text("name", name_rule).value_or("");
  tenant.metadata = fields.metadata("metadata").value_or(model::Metadata{});
  store::TenantPatch settings;
  read_settings(fields, tenant, asked->surface().options.webhook_urls, settings);
  if (refused(asked, findings)) return;
  tenant.filler_enabled = settings.filler_enabled.value_or(false);
  tenant.require_bound_decisions = settings.require_bound_decisions.value_or(true);
  tenant.agui_unsigned_approvals = settings.agui_unsigned_approvals.value_or(false);
  tenant.limits = settings.limits.value_or(model::TenantLimits{});
  tenant.webhook_url = settings.webhook_url.value_or(std::nullopt);

  tenant.id = asked->ids().make<model::TenantId>();
  tenant.created_at = tenant.updated_at = asked->now();
  asked->store().create_tenant(tenant, default_agent_of(asked, tenant), [asked, tenant](const Result<Unit>& made) {
    if (!made) return asked->fail(made.error());
    asked->created("/v1/tenants/" + tenant.id.text(), model::to_json(tenant));
  });
}

void get_tenant(const Asked& asked) {
  const auto id = asked->path_id<model::TenantId>();
  if (!id) return asked->not_found();
  asked->store().tenant(*id, [asked](const Result<model::Tenant>& tenant) {
    if (!tenant) return asked->fail(tenant.error());
    asked->answer_json(200, model::to_json(tenant.value()));
  });
}

void update_tenant(const Asked& asked) {
  const auto id = asked->path_id<model::TenantId>();
  if (!id) return asked->not_found();
  auto body = read_body(asked);
  if (!body) return;
  asked->store().tenant(*id, [asked, body = std::move(*body)](const Result<model::Tenant>& before) {
    if (!before) return asked->fail(before.error());
    patch_tenant(asked, body, before.value());
  });
}

void get_webhook_secret(const Asked& asked) {
  const auto id = asked->path_id<model::TenantId>();
  if (!id) return asked->not_found();
  asked->store().tenant(*id, [asked](const Result<model::Tenant>& tenant) {
    if (!tenant) return asked->fail(tenant.error());
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("object").string("webhook_secret").key("tenant_id").string(tenant.value().id.text());
    const auto& root = asked->surface().options.webhook_signing_root;
    writer.key("secret").string(notices::webhook_secret(root, tenant.value().id)).end_object();
    asked->answer_json(200, std::move(out), {{"Cache-Control", "no-store"}});
  });
}

}  // namespace sluice::api::admin
