// The handlers of all endpoints, surface by surface. api/routes.cc says which path each of them answers.
#pragma once

#include "api/request/route.h"

namespace sluice::api {

// The operator's surface: tenants, their keys, cancelling their runs, the audit chain, nodes and the vault's key.
namespace admin {

void list_tenants(const RequestPtr& request);
void create_tenant(const RequestPtr& request);
void get_tenant(const RequestPtr& request);
void update_tenant(const RequestPtr& request);

void list_service_keys(const RequestPtr& request);
void create_service_key(const RequestPtr& request);
void revoke_service_key(const RequestPtr& request);

void list_approver_keys(const RequestPtr& request);
void create_approver_key(const RequestPtr& request);
void revoke_approver_key(const RequestPtr& request);

void get_webhook_secret(const RequestPtr& request);
void list_audit(const RequestPtr& request);
void verify_audit(const RequestPtr& request);
void rotate_vault(const RequestPtr& request);
void list_nodes(const RequestPtr& request);

void cancel_run(const RequestPtr& request);

}  // namespace admin

// AG-UI, one address: POST starts or continues a run, GET finds a run or a thread again, DELETE cancels a run. A client
// that disconnects changes nothing.
namespace agui {

void start_run(const RequestPtr& request);
void find_again(const RequestPtr& request);
void cancel(const RequestPtr& request);

}  // namespace agui

// The Assistant: chats for people (docs/assistant.md), and their files.
namespace assistant {

void send_turn(const RequestPtr& request);
void follow_turn(const RequestPtr& request);

void list_chats(const RequestPtr& request);
void get_chat(const RequestPtr& request);
void rename_chat(const RequestPtr& request);
void delete_chat(const RequestPtr& request);
void stop_chat(const RequestPtr& request);

void upload_chat_files(const RequestPtr& request);
void upload_files(const RequestPtr& request);
void list_chat_files(const RequestPtr& request);
void get_chat_files_zip(const RequestPtr& request);
void get_file(const RequestPtr& request);
void delete_file(const RequestPtr& request);

// The same files below /api/workspaces.
void list_workspace_files(const RequestPtr& request);
void upload_workspace_files(const RequestPtr& request);
void get_workspace_file(const RequestPtr& request);
void get_workspace_file_content(const RequestPtr& request);
void delete_workspace_file(const RequestPtr& request);

}  // namespace assistant

// The console's pages, and the sessions of the people who use them.
namespace console {

void get_page(const RequestPtr& request);
void get_asset(const RequestPtr& request);

void open_session(const RequestPtr& request);
void get_session(const RequestPtr& request);
void update_session(const RequestPtr& request);
void close_session(const RequestPtr& request);

// For the operator: makes a code that opens the console once.
void create_code(const RequestPtr& request);

}  // namespace console

// For runners on other machines: they fetch what an execution needs and return its files.
namespace executions {

void create_execution(const RequestPtr& request);
void list_files(const RequestPtr& request);

// With a one-time token, bare in Authorization.
void get_env(const RequestPtr& request);
void get_config(const RequestPtr& request);
void take_results(const RequestPtr& request);

// With the execution's bearer.
void list_skills(const RequestPtr& request);
void get_skill(const RequestPtr& request);
void get_files(const RequestPtr& request);

}  // namespace executions

// The Integration API: the endpoints below /v1 for service keys, and the same resources below /api/workspaces.
namespace integration {

void create_conversation(const RequestPtr& request);
void list_conversations(const RequestPtr& request);
void get_conversation(const RequestPtr& request);
void update_conversation(const RequestPtr& request);
void archive_conversation(const RequestPtr& request);

void create_message(const RequestPtr& request);
void list_messages(const RequestPtr& request);
void get_message(const RequestPtr& request);
void stream_message_events(const RequestPtr& request);

void list_runs(const RequestPtr& request);
void get_run(const RequestPtr& request);
void cancel_run(const RequestPtr& request);
void stream_run_trace(const RequestPtr& request);
void get_run_steps(const RequestPtr& request);
void get_run_timeline(const RequestPtr& request);
void get_run_result(const RequestPtr& request);

void list_agents(const RequestPtr& request);
void create_agent(const RequestPtr& request);
void get_agent(const RequestPtr& request);
void update_agent(const RequestPtr& request);
void delete_agent(const RequestPtr& request);

void list_repositories(const RequestPtr& request);
void create_repository(const RequestPtr& request);
void get_repository(const RequestPtr& request);
void update_repository(const RequestPtr& request);
void delete_repository(const RequestPtr& request);

void list_skills(const RequestPtr& request);
void create_skill(const RequestPtr& request);
void get_skill(const RequestPtr& request);
void replace_skill(const RequestPtr& request);
void delete_skill(const RequestPtr& request);
void get_skill_bundle(const RequestPtr& request);

void list_environments(const RequestPtr& request);
void create_environment(const RequestPtr& request);
void get_environment(const RequestPtr& request);
void update_environment(const RequestPtr& request);
void delete_environment(const RequestPtr& request);

void list_approvals(const RequestPtr& request);
void get_approval(const RequestPtr& request);
void approve_approval(const RequestPtr& request);
void deny_approval(const RequestPtr& request);

void put_conversation_secrets(const RequestPtr& request);
void list_conversation_secrets(const RequestPtr& request);
void delete_conversation_secret(const RequestPtr& request);
void put_agent_secrets(const RequestPtr& request);
void list_agent_secrets(const RequestPtr& request);
void delete_agent_secret(const RequestPtr& request);
void put_tenant_secrets(const RequestPtr& request);
void list_tenant_secrets(const RequestPtr& request);
void delete_tenant_secret(const RequestPtr& request);

void list_run_egress(const RequestPtr& request);
void get_capacity(const RequestPtr& request);
void get_capacity_history(const RequestPtr& request);

void list_run_files(const RequestPtr& request);
void get_file(const RequestPtr& request);
void get_file_content(const RequestPtr& request);

void get_self(const RequestPtr& request);

void list_model_endpoints(const RequestPtr& request);
void create_model_endpoint(const RequestPtr& request);
void get_model_endpoint(const RequestPtr& request);
void update_model_endpoint(const RequestPtr& request);
void delete_model_endpoint(const RequestPtr& request);

}  // namespace integration

// For operators and lost readers: health, metrics, the pages that problems link to, the API's description.
namespace operations {

void get_health(const RequestPtr& request);
void get_readiness(const RequestPtr& request);
void get_metrics(const RequestPtr& request);

void list_problems(const RequestPtr& request);
void get_problem(const RequestPtr& request);
void get_home(const RequestPtr& request);
void get_openapi(const RequestPtr& request);
void get_docs(const RequestPtr& request);

}  // namespace operations

// The tables of a workspace, for service keys and for sandboxes.
namespace tables {

void list_tables(const RequestPtr& request);
void create_table(const RequestPtr& request);
void get_table(const RequestPtr& request);
void update_table(const RequestPtr& request);
void delete_table(const RequestPtr& request);

void list_rows(const RequestPtr& request);
void insert_rows(const RequestPtr& request);
void update_row(const RequestPtr& request);
void delete_row(const RequestPtr& request);
void query_rows(const RequestPtr& request);

}  // namespace tables

// Workflows: definitions, runs and their streams.
namespace workflows {

void list_workflows(const RequestPtr& request);
void create_workflow(const RequestPtr& request);
void get_workflow(const RequestPtr& request);
void update_workflow(const RequestPtr& request);
void delete_workflow(const RequestPtr& request);

void start_run(const RequestPtr& request);
void list_runs(const RequestPtr& request);
void get_run(const RequestPtr& request);
void stream_run(const RequestPtr& request);
void cancel_run(const RequestPtr& request);

}  // namespace workflows

}  // namespace sluice::api
