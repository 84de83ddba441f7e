#include "api/routes.h"

#include <algorithm>
#include <optional>

#include "api/admin/handlers.h"
#include "api/integration/handlers.h"
#include "api/operations/handlers.h"

namespace sluice::api {
namespace {

constexpr Route table[] = {
    // The hot one first: rows are tried in order.
    {"POST", "/v1/conversations/{conversation_id}/messages", "createMessage", Access::service_write,
     integration::create_message},
    {"GET", "/v1/conversations/{conversation_id}/messages", "listMessages", Access::service,
     integration::list_messages},
    {"GET", "/v1/messages/{message_id}", "getMessage", Access::service, integration::get_message},
    {"GET", "/v1/messages/{message_id}/events", "streamMessageEvents", Access::service,
     integration::stream_message_events},

    {"POST", "/v1/conversations", "createConversation", Access::service_write, integration::create_conversation},
    {"GET", "/v1/conversations", "listConversations", Access::service, integration::list_conversations},
    {"GET", "/v1/conversations/{conversation_id}", "getConversation", Access::service, integration::get_conversation},
    {"PATCH", "/v1/conversations/{conversation_id}", "updateConversation", Access::service_write,
     integration::update_conversation},
    {"DELETE", "/v1/conversations/{conversation_id}", "archiveConversation", Access::service_write,
     integration::archive_conversation},

    {"GET", "/v1/runs", "listRuns", Access::service, integration::list_runs},
    {"GET", "/v1/runs/{run_id}", "getRun", Access::service, integration::get_run},
    // Also for a suspended tenant: it only stops cost.
    {"POST", "/v1/runs/{run_id}/cancel", "cancelRun", Access::service, integration::cancel_run},

    {"GET", "/v1/agents", "listAgents", Access::service, integration::list_agents},
    {"POST", "/v1/agents", "createAgent", Access::service_write, integration::create_agent},
    {"GET", "/v1/agents/{agent_id}", "getAgent", Access::service, integration::get_agent},
    {"PATCH", "/v1/agents/{agent_id}", "updateAgent", Access::service_write, integration::update_agent},
    {"DELETE", "/v1/agents/{agent_id}", "deleteAgent", Access::service_write, integration::delete_agent},

    {"GET", "/v1/integration/self", "getIntegrationSelf", Access::service, integration::get_self},

    {"GET", "/v1/tenants", "listTenants", Access::admin, admin::list_tenants},
    {"POST", "/v1/tenants", "createTenant", Access::admin, admin::create_tenant},
    {"GET", "/v1/tenants/{tenant_id}", "getTenant", Access::admin, admin::get_tenant},
    {"PATCH", "/v1/tenants/{tenant_id}", "updateTenant", Access::admin, admin::update_tenant},
    {"POST", "/v1/tenants/{tenant_id}/runs/{run_id}/cancel", "cancelTenantRun", Access::admin, admin::cancel_run},
    {"GET", "/v1/tenants/{tenant_id}/keys", "listServiceKeys", Access::admin, admin::list_service_keys},
    {"POST", "/v1/tenants/{tenant_id}/keys", "createServiceKey", Access::admin, admin::create_service_key},
    {"DELETE", "/v1/tenants/{tenant_id}/keys/{key_id}", "revokeServiceKey", Access::admin, admin::revoke_service_key},
    {"GET", "/v1/tenants/{tenant_id}/approver-keys", "listApproverKeys", Access::admin, admin::list_approver_keys},
    {"POST", "/v1/tenants/{tenant_id}/approver-keys", "createApproverKey", Access::admin, admin::create_approver_key},
    {"DELETE", "/v1/tenants/{tenant_id}/approver-keys/{approver_key_id}", "revokeApproverKey", Access::admin,
     admin::revoke_approver_key},

    {"GET", "/healthz", "getHealth", Access::open, operations::get_health},
    {"GET", "/readyz", "getReadiness", Access::open, operations::get_readiness},
    {"GET", "/metrics", "getMetrics", Access::metrics, operations::get_metrics},
    {"GET", "/problems", "listProblems", Access::open, operations::list_problems},
    {"GET", "/problems/{slug}", "getProblem", Access::open, operations::get_problem},
    {"GET", "/openapi.yaml", "getOpenapi", Access::open, operations::get_openapi},
    {"GET", "/", "getHome", Access::open, operations::get_home},
};

constexpr std::size_t segments_max = 6;

struct Path {
  std::array<std::string_view, segments_max> segments;
  std::size_t count = 0;
};

// Empty for a path that no row could have: too deep, or not absolute.
constexpr std::optional<Path> split(std::string_view path) {
  if (path.empty() || path.front() != '/') return std::nullopt;
  Path out;
  path.remove_prefix(1);
  while (true) {
    if (out.count == segments_max) return std::nullopt;
    const std::size_t slash = path.find('/');
    out.segments[out.count++] = path.substr(0, slash);
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

constexpr bool is_param(std::string_view segment) { return segment.starts_with('{'); }

// The templates, split by the compiler.
constexpr auto split_table = [] {
  std::array<Path, std::size(table)> out;
  for (std::size_t i = 0; i < std::size(table); ++i) out[i] = split(table[i].path).value();
  return out;
}();

constexpr bool no_row_has_too_many_params() {
  return std::ranges::all_of(split_table, [](const Path& path) {
    return std::ranges::count_if(path.segments, is_param) <= static_cast<long>(path_params_max);
  });
}
static_assert(no_row_has_too_many_params());

bool fits(const Path& row, const Path& asked, PathParams& params) {
  if (row.count != asked.count) return false;
  std::size_t param_count = 0;
  for (std::size_t i = 0; i < row.count; ++i) {
    if (is_param(row.segments[i])) {
      if (asked.segments[i].empty()) return false;
      params[param_count++] = asked.segments[i];
    } else if (row.segments[i] != asked.segments[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const Route> routes() { return table; }

Match match(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  const auto asked = split(path);
  if (!asked) return {};
  Match out;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (!fits(split_table[i], *asked, out.params)) continue;
    out.known_path = true;
    if (table[i].method != method) continue;
    out.route = &table[i];
    return out;
  }
  return out;
}

std::string allowed_methods(std::string_view path) {
  const auto asked = split(path);
  if (!asked) return {};
  std::string out;
  PathParams params;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (!fits(split_table[i], *asked, params)) continue;
    out += table[i].method;
    out += table[i].method == "GET" ? ", HEAD, " : ", ";
  }
  if (!out.empty()) out += "OPTIONS";
  return out;
}

}  // namespace sluice::api
