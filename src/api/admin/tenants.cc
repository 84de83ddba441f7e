#include "api/admin/handlers.h"
#include "api/pages.h"

namespace sluice::api::admin {
namespace {

constexpr std::string_view create_names[] = {"name", "metadata", "settings"};
constexpr std::string_view update_names[] = {"name", "metadata", "settings", "status"};
constexpr std::string_view settings_names[] = {"filler_enabled"};

std::optional<bool> read_filler_enabled(const Fields& fields) {
  const auto settings = fields.object("settings", settings_names);
  return settings ? settings->boolean("filler_enabled", Null::refused) : std::nullopt;
}

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
  tenant.filler_enabled = read_filler_enabled(fields).value_or(false);
  if (refused(asked, findings)) return;

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
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", update_names, findings);
  store::TenantPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.status = fields.word("status", model::tenant_status_named, "active, suspended");
  patch.metadata = fields.null("metadata") ? model::Metadata{} : fields.metadata("metadata");
  patch.filler_enabled = fields.null("settings") ? false : read_filler_enabled(fields);
  if (refused(asked, findings)) return;

  asked->store().update_tenant(*id, std::move(patch), asked->now(), [asked](const Result<model::Tenant>& tenant) {
    // Also when it failed: the outcome may be unknown.
    asked->surface().authentication.forget();
    if (!tenant) return asked->fail(tenant.error());
    asked->answer_json(200, model::to_json(tenant.value()));
  });
}

}  // namespace sluice::api::admin
