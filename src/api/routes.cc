#include "api/routes.h"

#include <algorithm>
#include <optional>

#include "api/handlers.h"
#include "api/inputs/file_uploads.h"
#include "base/limits.h"

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

    {"POST", "/agui", "startAguiRun", Access::service_write, agui::start_run},
    {"GET", "/agui", "findAguiRun", Access::service, agui::find_again},
    {"DELETE", "/agui", "cancelAguiRun", Access::service, agui::cancel},
    {"POST", "/agui/{agent}", "startAguiRunOfAgent", Access::service_write, agui::start_run},
    {"GET", "/agui/{agent}", "findAguiRunOfAgent", Access::service, agui::find_again},
    {"DELETE", "/agui/{agent}", "cancelAguiRunOfAgent", Access::service, agui::cancel},

    {"POST", "/api/assistant/chat/stream", "sendChatTurn", Access::service_write, assistant::send_turn},
    {"GET", "/api/assistant/chat/stream", "followChatTurn", Access::service, assistant::follow_turn},
    {"GET", "/api/assistant/chats", "listChats", Access::service, assistant::list_chats},
    {"GET", "/api/assistant/chats/{chat_id}", "getChat", Access::service, assistant::get_chat},
    {"PATCH", "/api/assistant/chats/{chat_id}", "renameChat", Access::service_write, assistant::rename_chat},
    {"DELETE", "/api/assistant/chats/{chat_id}", "deleteChat", Access::service_write, assistant::delete_chat},
    // Also for a suspended tenant: it only stops cost.
    {"POST", "/api/assistant/chats/{chat_id}/stop", "stopChat", Access::service, assistant::stop_chat},
    {"POST", "/api/assistant/chats/{chat_id}/files", "uploadChatFiles", Access::service_write,
     assistant::upload_chat_files, upload_request_bytes_max},
    {"GET", "/api/assistant/chats/{chat_id}/files", "listChatFiles", Access::service, assistant::list_chat_files},
    {"GET", "/api/assistant/chats/{chat_id}/files.zip", "getChatFilesZip", Access::service,
     assistant::get_chat_files_zip},
    {"POST", "/api/assistant/files", "uploadFiles", Access::service_write, assistant::upload_files,
     upload_request_bytes_max},
    {"GET", "/api/assistant/files/{file_id}", "getBagFile", Access::service, assistant::get_file},
    {"DELETE", "/api/assistant/files/{file_id}", "deleteBagFile", Access::service_write, assistant::delete_file},

    {"GET", "/v1/runs", "listRuns", Access::service, integration::list_runs},
    {"GET", "/v1/runs/{run_id}", "getRun", Access::service, integration::get_run},
    {"GET", "/v1/runs/{run_id}/stream.jsonl", "streamRunTrace", Access::service, integration::stream_run_trace},
    {"GET", "/v1/runs/{run_id}/steps.json", "getRunSteps", Access::service, integration::get_run_steps},
    {"GET", "/v1/runs/{run_id}/timeline", "getRunTimeline", Access::service, integration::get_run_timeline},
    {"GET", "/v1/runs/{run_id}/result.json", "getRunResult", Access::service, integration::get_run_result},
    // Also for a suspended tenant: it only stops cost.
    {"POST", "/v1/runs/{run_id}/cancel", "cancelRun", Access::service, integration::cancel_run},

    {"GET", "/v1/runs/{run_id}/egress", "listRunEgress", Access::service, integration::list_run_egress},

    {"GET", "/v1/approvals", "listApprovals", Access::service, integration::list_approvals},
    {"GET", "/v1/approvals/{approval_id}", "getApproval", Access::service, integration::get_approval},
    {"POST", "/v1/approvals/{approval_id}/approve", "approveApproval", Access::service_write,
     integration::approve_approval},
    {"POST", "/v1/approvals/{approval_id}/deny", "denyApproval", Access::service_write, integration::deny_approval},

    {"GET", "/v1/conversations/{conversation_id}/secrets", "listConversationSecrets", Access::service,
     integration::list_conversation_secrets},
    {"PUT", "/v1/conversations/{conversation_id}/secrets", "putConversationSecrets", Access::service_write,
     integration::put_conversation_secrets},
    {"DELETE", "/v1/conversations/{conversation_id}/secrets/{alias}", "deleteConversationSecret", Access::service_write,
     integration::delete_conversation_secret},
    {"GET", "/v1/agents/{agent_id}/secrets", "listAgentSecrets", Access::service, integration::list_agent_secrets},
    {"PUT", "/v1/agents/{agent_id}/secrets", "putAgentSecrets", Access::service_write, integration::put_agent_secrets},
    {"DELETE", "/v1/agents/{agent_id}/secrets/{alias}", "deleteAgentSecret", Access::service_write,
     integration::delete_agent_secret},
    {"GET", "/v1/secrets", "listTenantSecrets", Access::service, integration::list_tenant_secrets},
    {"PUT", "/v1/secrets", "putTenantSecrets", Access::service_write, integration::put_tenant_secrets},
    {"DELETE", "/v1/secrets/{alias}", "deleteTenantSecret", Access::service_write, integration::delete_tenant_secret},

    {"GET", "/v1/agents", "listAgents", Access::service, integration::list_agents},
    {"POST", "/v1/agents", "createAgent", Access::service_write, integration::create_agent},
    {"GET", "/v1/agents/{agent_id}", "getAgent", Access::service, integration::get_agent},
    {"PATCH", "/v1/agents/{agent_id}", "updateAgent", Access::service_write, integration::update_agent},
    {"DELETE", "/v1/agents/{agent_id}", "deleteAgent", Access::service_write, integration::delete_agent},

    {"GET", "/v1/repositories", "listRepositories", Access::service, integration::list_repositories},
    {"POST", "/v1/repositories", "createRepository", Access::service_write, integration::create_repository},
    {"GET", "/v1/repositories/{repository_id}", "getRepository", Access::service, integration::get_repository},
    {"PATCH", "/v1/repositories/{repository_id}", "updateRepository", Access::service_write,
     integration::update_repository},
    {"DELETE", "/v1/repositories/{repository_id}", "deleteRepository", Access::service_write,
     integration::delete_repository},

    {"GET", "/v1/skills", "listSkills", Access::service, integration::list_skills},
    {"POST", "/v1/skills", "createSkill", Access::service_write, integration::create_skill,
     limits::skill_request_bytes_max},
    {"GET", "/v1/skills/{skill_id}", "getSkill", Access::service, integration::get_skill},
    {"PUT", "/v1/skills/{skill_id}", "replaceSkill", Access::service_write, integration::replace_skill,
     limits::skill_request_bytes_max},
    {"DELETE", "/v1/skills/{skill_id}", "deleteSkill", Access::service_write, integration::delete_skill},
    {"GET", "/v1/skills/{skill_id}/bundle", "getSkillBundle", Access::service, integration::get_skill_bundle},

    {"GET", "/v1/environments", "listEnvironments", Access::service, integration::list_environments},
    {"POST", "/v1/environments", "createEnvironment", Access::service_write, integration::create_environment},
    {"GET", "/v1/environments/{environment_id}", "getEnvironment", Access::service, integration::get_environment},
    {"PATCH", "/v1/environments/{environment_id}", "updateEnvironment", Access::service_write,
     integration::update_environment},
    {"DELETE", "/v1/environments/{environment_id}", "deleteEnvironment", Access::service_write,
     integration::delete_environment},

    {"GET", "/v1/runs/{run_id}/files", "listRunFiles", Access::service, integration::list_run_files},
    {"GET", "/v1/files/{file_id}", "getFile", Access::service, integration::get_file},
    {"GET", "/v1/files/{file_id}/content", "getFileContent", Access::service, integration::get_file_content},

    {"GET", "/v1/capacity", "getCapacity", Access::service, integration::get_capacity},
    {"GET", "/v1/capacity/history", "getCapacityHistory", Access::service, integration::get_capacity_history},
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

    {"GET", "/v1/tenants/{tenant_id}/webhook-secret", "getWebhookSecret", Access::admin, admin::get_webhook_secret},
    {"GET", "/v1/admin/audit", "listAuditEntries", Access::admin, admin::list_audit},
    {"POST", "/v1/admin/audit/verify", "verifyAudit", Access::admin, admin::verify_audit},
    {"GET", "/v1/admin/nodes", "listNodes", Access::admin, admin::list_nodes},
    {"POST", "/v1/admin/vault/rotate", "rotateVault", Access::admin, admin::rotate_vault},
    {"POST", "/v1/admin/console-codes", "createConsoleCode", Access::admin, console::create_code},

    // For runners elsewhere: one-time tokens, and the bearer of an execution.
    {"GET", "/api/agents/{execution_id}/env", "getAgentEnv", Access::setup_token, executions::get_env},
    {"GET", "/api/agents/{execution_id}/config", "getAgentConfig", Access::run_token, executions::get_config},
    {"GET", "/api/agents/{execution_id}/skills", "listAgentSkills", Access::bearer, executions::list_skills},
    {"GET", "/api/agents/{execution_id}/skills/{skill_id}", "getAgentSkill", Access::bearer, executions::get_skill},
    {"POST", "/api/agents/{execution_id}/results", "postAgentResults", Access::upload_token, executions::take_results,
     limits::upload_request_bytes_max},
    {"POST", "/api/agents/{execution_id}/assets/writeback", "postAgentAssets", Access::upload_token,
     executions::take_results, limits::upload_request_bytes_max},
    {"GET", "/api/assistant/sandbox/{execution_id}/env", "getSandboxEnv", Access::setup_token, executions::get_env},
    {"GET", "/api/assistant/sandbox/{execution_id}/config", "getSandboxConfig", Access::run_token,
     executions::get_config},
    {"GET", "/api/assistant/sandbox/{execution_id}/skills", "listSandboxSkills", Access::bearer,
     executions::list_skills},
    {"GET", "/api/assistant/sandbox/{execution_id}/skills/{skill_id}", "getSandboxSkill", Access::bearer,
     executions::get_skill},
    {"GET", "/api/assistant/sandbox/{execution_id}/files.zip", "getSandboxFiles", Access::bearer,
     executions::get_files},
    {"POST", "/api/assistant/sandbox/{execution_id}/results", "postSandboxResults", Access::upload_token,
     executions::take_results, limits::upload_request_bytes_max},
    {"POST", "/api/assistant/sandbox/{execution_id}/assets/writeback", "postSandboxAssets", Access::upload_token,
     executions::take_results, limits::upload_request_bytes_max},

    {"POST", "/api/workspaces/{workspace_id}/executions", "createExecution", Access::workspace_write,
     executions::create_execution},
    {"GET", "/api/workspaces/{workspace_id}/executions/{execution_id}/files", "listExecutionFiles", Access::workspace,
     executions::list_files},

    {"GET", "/api/workspaces/{workspace_id}/files", "listWorkspaceFiles", Access::workspace_sandbox,
     assistant::list_workspace_files},
    {"POST", "/api/workspaces/{workspace_id}/files", "uploadWorkspaceFiles", Access::workspace_sandbox,
     assistant::upload_workspace_files, upload_request_bytes_max},
    {"GET", "/api/workspaces/{workspace_id}/files/{file_id}", "getWorkspaceFile", Access::workspace_sandbox,
     assistant::get_workspace_file},
    {"GET", "/api/workspaces/{workspace_id}/files/{file_id}/content", "getWorkspaceFileContent",
     Access::workspace_sandbox, assistant::get_workspace_file_content},
    {"DELETE", "/api/workspaces/{workspace_id}/files/{file_id}", "deleteWorkspaceFile", Access::workspace_sandbox,
     assistant::delete_workspace_file},

    {"GET", "/api/workspaces/{workspace_id}/workflows", "listWorkflows", Access::workspace_sandbox,
     workflows::list_workflows},
    {"POST", "/api/workspaces/{workspace_id}/workflows", "createWorkflow", Access::workspace_sandbox,
     workflows::create_workflow},
    {"GET", "/api/workspaces/{workspace_id}/workflows/{workflow_id}", "getWorkflow", Access::workspace_sandbox,
     workflows::get_workflow},
    {"PATCH", "/api/workspaces/{workspace_id}/workflows/{workflow_id}", "updateWorkflow", Access::workspace_sandbox,
     workflows::update_workflow},
    {"DELETE", "/api/workspaces/{workspace_id}/workflows/{workflow_id}", "deleteWorkflow", Access::workspace_sandbox,
     workflows::delete_workflow},
    {"POST", "/api/workspaces/{workspace_id}/workflows/{workflow_id}/runs", "startWorkflowRun", Access::workspace_write,
     workflows::start_run},
    {"GET", "/api/workspaces/{workspace_id}/workflows/{workflow_id}/runs", "listWorkflowRuns", Access::workspace,
     workflows::list_runs},
    {"GET", "/api/workspaces/{workspace_id}/workflow-runs/{workflow_run_id}", "getWorkflowRun", Access::workspace,
     workflows::get_run},
    {"GET", "/api/workspaces/{workspace_id}/workflow-runs/{workflow_run_id}/events", "streamWorkflowRun",
     Access::workspace, workflows::stream_run},
    {"POST", "/api/workspaces/{workspace_id}/workflow-runs/{workflow_run_id}/cancel", "cancelWorkflowRun",
     Access::workspace_write, workflows::cancel_run},

    {"GET", "/api/workspaces/{workspace_id}/agents", "listWorkspaceAgents", Access::workspace,
     integration::list_agents},
    {"POST", "/api/workspaces/{workspace_id}/agents", "createWorkspaceAgent", Access::workspace_write,
     integration::create_agent},
    {"GET", "/api/workspaces/{workspace_id}/agents/{agent_id}", "getWorkspaceAgent", Access::workspace,
     integration::get_agent},
    {"PATCH", "/api/workspaces/{workspace_id}/agents/{agent_id}", "updateWorkspaceAgent", Access::workspace_write,
     integration::update_agent},
    {"DELETE", "/api/workspaces/{workspace_id}/agents/{agent_id}", "deleteWorkspaceAgent", Access::workspace_write,
     integration::delete_agent},

    {"GET", "/api/workspaces/{workspace_id}/repositories", "listWorkspaceRepositories", Access::workspace,
     integration::list_repositories},
    {"POST", "/api/workspaces/{workspace_id}/repositories", "createWorkspaceRepository", Access::workspace_write,
     integration::create_repository},
    {"GET", "/api/workspaces/{workspace_id}/repositories/{repository_id}", "getWorkspaceRepository", Access::workspace,
     integration::get_repository},
    {"PATCH", "/api/workspaces/{workspace_id}/repositories/{repository_id}", "updateWorkspaceRepository",
     Access::workspace_write, integration::update_repository},
    {"DELETE", "/api/workspaces/{workspace_id}/repositories/{repository_id}", "deleteWorkspaceRepository",
     Access::workspace_write, integration::delete_repository},

    {"GET", "/api/workspaces/{workspace_id}/skills", "listWorkspaceSkills", Access::workspace,
     integration::list_skills},
    {"POST", "/api/workspaces/{workspace_id}/skills", "createWorkspaceSkill", Access::workspace_write,
     integration::create_skill, limits::skill_request_bytes_max},
    {"GET", "/api/workspaces/{workspace_id}/skills/{skill_id}", "getWorkspaceSkill", Access::workspace,
     integration::get_skill},
    {"PUT", "/api/workspaces/{workspace_id}/skills/{skill_id}", "replaceWorkspaceSkill", Access::workspace_write,
     integration::replace_skill, limits::skill_request_bytes_max},
    {"DELETE", "/api/workspaces/{workspace_id}/skills/{skill_id}", "deleteWorkspaceSkill", Access::workspace_write,
     integration::delete_skill},
    {"GET", "/api/workspaces/{workspace_id}/skills/{skill_id}/bundle", "getWorkspaceSkillBundle", Access::workspace,
     integration::get_skill_bundle},

    {"GET", "/api/workspaces/{workspace_id}/environments", "listWorkspaceEnvironments", Access::workspace,
     integration::list_environments},
    {"POST", "/api/workspaces/{workspace_id}/environments", "createWorkspaceEnvironment", Access::workspace_write,
     integration::create_environment},
    {"GET", "/api/workspaces/{workspace_id}/environments/{environment_id}", "getWorkspaceEnvironment",
     Access::workspace, integration::get_environment},
    {"PATCH", "/api/workspaces/{workspace_id}/environments/{environment_id}", "updateWorkspaceEnvironment",
     Access::workspace_write, integration::update_environment},
    {"DELETE", "/api/workspaces/{workspace_id}/environments/{environment_id}", "deleteWorkspaceEnvironment",
     Access::workspace_write, integration::delete_environment},

    // A session is looked at by the handlers themselves. The pages are for everybody; what they show is not.
    {"POST", "/console/session", "openConsoleSession", Access::open, console::open_session},
    {"GET", "/console/session", "getConsoleSession", Access::open, console::get_session},
    {"PATCH", "/console/session", "updateConsoleSession", Access::open, console::update_session},
    {"DELETE", "/console/session", "closeConsoleSession", Access::open, console::close_session},
    {"GET", "/console", "getConsole", Access::open, console::get_page},
    {"GET", "/console/assets/{asset}", "getConsoleAsset", Access::open, console::get_asset},
    {"GET", "/console/{page}", "getConsolePage", Access::open, console::get_page},

    {"GET", "/v1/model-endpoints", "listModelEndpoints", Access::service, integration::list_model_endpoints},
    {"POST", "/v1/model-endpoints", "createModelEndpoint", Access::service_write, integration::create_model_endpoint},
    {"GET", "/v1/model-endpoints/{endpoint}", "getModelEndpoint", Access::service, integration::get_model_endpoint},
    {"PATCH", "/v1/model-endpoints/{endpoint}", "updateModelEndpoint", Access::service_write,
     integration::update_model_endpoint},
    {"DELETE", "/v1/model-endpoints/{endpoint}", "deleteModelEndpoint", Access::service_write,
     integration::delete_model_endpoint},
    {"GET", "/api/workspaces/{workspace_id}/model-endpoints", "listWorkspaceModelEndpoints", Access::workspace,
     integration::list_model_endpoints},
    {"POST", "/api/workspaces/{workspace_id}/model-endpoints", "createWorkspaceModelEndpoint", Access::workspace_write,
     integration::create_model_endpoint},
    {"GET", "/api/workspaces/{workspace_id}/model-endpoints/{endpoint}", "getWorkspaceModelEndpoint", Access::workspace,
     integration::get_model_endpoint},
    {"PATCH", "/api/workspaces/{workspace_id}/model-endpoints/{endpoint}", "updateWorkspaceModelEndpoint",
     Access::workspace_write, integration::update_model_endpoint},
    {"DELETE", "/api/workspaces/{workspace_id}/model-endpoints/{endpoint}", "deleteWorkspaceModelEndpoint",
     Access::workspace_write, integration::delete_model_endpoint},
    {"GET", "/api/workspaces/{workspace_id}/tables", "listTables", Access::workspace, tables::list_tables},
    {"POST", "/api/workspaces/{workspace_id}/tables", "createTable", Access::workspace_sandbox, tables::create_table},
    {"GET", "/api/workspaces/{workspace_id}/tables/{table}", "getTable", Access::workspace, tables::get_table},
    {"PATCH", "/api/workspaces/{workspace_id}/tables/{table}", "updateTable", Access::workspace_sandbox,
     tables::update_table},
    {"DELETE", "/api/workspaces/{workspace_id}/tables/{table}", "deleteTable", Access::workspace_sandbox,
     tables::delete_table},
    {"GET", "/api/workspaces/{workspace_id}/tables/{table}/rows", "listTableRows", Access::workspace,
     tables::list_rows},
    {"POST", "/api/workspaces/{workspace_id}/tables/{table}/rows", "insertTableRows", Access::workspace_sandbox,
     tables::insert_rows},
    {"PATCH", "/api/workspaces/{workspace_id}/tables/{table}/rows/{row_id}", "updateTableRow",
     Access::workspace_sandbox, tables::update_row},
    {"DELETE", "/api/workspaces/{workspace_id}/tables/{table}/rows/{row_id}", "deleteTableRow",
     Access::workspace_sandbox, tables::delete_row},
    {"POST", "/api/workspaces/{workspace_id}/tables/{table}/query", "queryTableRows", Access::workspace,
     tables::query_rows},

    {"GET", "/healthz", "getHealth", Access::open, operations::get_health},
    {"GET", "/readyz", "getReadiness", Access::open, operations::get_readiness},
    {"GET", "/metrics", "getMetrics", Access::metrics, operations::get_metrics},
    {"GET", "/problems", "listProblems", Access::open, operations::list_problems},
    {"GET", "/problems/{slug}", "getProblem", Access::open, operations::get_problem},
    {"GET", "/openapi.yaml", "getOpenapi", Access::open, operations::get_openapi},
    {"GET", "/docs", "getDocs", Access::open, operations::get_docs},
    {"GET", "/", "getHome", Access::open, operations::get_home},
};

constexpr std::size_t segments_max = 8;

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

// However deep: the page itself reads where it is.
constexpr std::string_view without_depth(std::string_view path) {
  constexpr std::string_view pages = "/console/";
  if (!path.starts_with(pages) || path.starts_with("/console/assets/") || path == "/console/session") return path;
  return "/console/page";
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

bool fits(const Path& row, const Path& path, PathParams& params) {
  if (row.count != path.count) return false;
  std::size_t param_count = 0;
  for (std::size_t i = 0; i < row.count; ++i) {
    if (is_param(row.segments[i])) {
      if (path.segments[i].empty()) return false;
      params[param_count++] = path.segments[i];
    } else if (row.segments[i] != path.segments[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const Route> routes() { return table; }

Match match(std::string_view method, std::string_view path) {
  const bool is_head = method == "HEAD";
  if (is_head) method = "GET";
  const auto segments = split(without_depth(path));
  if (!segments) return {};
  Match out;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (!fits(split_table[i], *segments, out.params)) continue;
    out.known_path = true;
    if (table[i].method != method || (is_head && is_callback(table[i].access))) continue;
    out.route = &table[i];
    return out;
  }
  return out;
}

std::string allowed_methods(std::string_view path) {
  const auto segments = split(without_depth(path));
  if (!segments) return {};
  std::string out;
  PathParams params;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (!fits(split_table[i], *segments, params) || out.find(table[i].method) != std::string::npos) continue;
    out += table[i].method;
    out += table[i].method == "GET" && !is_callback(table[i].access) ? ", HEAD, " : ", ";
  }
  if (!out.empty()) out += "OPTIONS";
  return out;
}

}  // namespace sluice::api
