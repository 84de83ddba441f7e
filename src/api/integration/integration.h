// The Integration API: the endpoints below /v1 for service keys, and the same resources below /api/workspaces.
#pragma once

#include "api/request/route.h"

namespace sluice::api::integration {

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

}  // namespace sluice::api::integration
