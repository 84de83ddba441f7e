#include "api/admin/tenant_settings.h"

#include "net/net.h"

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

}  // namespace

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

}  // namespace sluice::api::admin
