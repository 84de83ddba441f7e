// The Integration API, for service keys.
#pragma once

#include "api/routes.h"

namespace sluice::api::integration {

void create_conversation(const Asked& asked);
void list_conversations(const Asked& asked);
void get_conversation(const Asked& asked);
void update_conversation(const Asked& asked);
void archive_conversation(const Asked& asked);

void create_message(const Asked& asked);
void list_messages(const Asked& asked);
void get_message(const Asked& asked);
void stream_message_events(const Asked& asked);

void list_runs(const Asked& asked);
void get_run(const Asked& asked);
void cancel_run(const Asked& asked);
void stream_run_trace(const Asked& asked);
void get_run_steps(const Asked& asked);
void get_run_timeline(const Asked& asked);
void get_run_result(const Asked& asked);

void list_agents(const Asked& asked);
void create_agent(const Asked& asked);
void get_agent(const Asked& asked);
void update_agent(const Asked& asked);
void delete_agent(const Asked& asked);

void list_repositories(const Asked& asked);
void create_repository(const Asked& asked);
void get_repository(const Asked& asked);
void update_repository(const Asked& asked);
void delete_repository(const Asked& asked);

void list_skills(const Asked& asked);
void create_skill(const Asked& asked);
void get_skill(const Asked& asked);
void replace_skill(const Asked& asked);
void delete_skill(const Asked& asked);
void get_skill_bundle(const Asked& asked);

void list_environments(const Asked& asked);
void create_environment(const Asked& asked);
void get_environment(const Asked& asked);
void update_environment(const Asked& asked);
void delete_environment(const Asked& asked);

void list_approvals(const Asked& asked);
void get_approval(const Asked& asked);
void approve_approval(const Asked& asked);
void deny_approval(const Asked& asked);

void put_conversation_secrets(const Asked& asked);
void list_conversation_secrets(const Asked& asked);
void delete_conversation_secret(const Asked& asked);
void put_agent_secrets(const Asked& asked);
void list_agent_secrets(const Asked& asked);
void delete_agent_secret(const Asked& asked);
void put_tenant_secrets(const Asked& asked);
void list_tenant_secrets(const Asked& asked);
void delete_tenant_secret(const Asked& asked);

void list_run_egress(const Asked& asked);
void get_capacity(const Asked& asked);
void get_capacity_history(const Asked& asked);

void list_run_files(const Asked& asked);
void get_file(const Asked& asked);
void get_file_content(const Asked& asked);

void get_self(const Asked& asked);

void list_model_endpoints(const Asked& asked);
void create_model_endpoint(const Asked& asked);
void get_model_endpoint(const Asked& asked);
void update_model_endpoint(const Asked& asked);
void delete_model_endpoint(const Asked& asked);

}  // namespace sluice::api::integration
