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

void list_agents(const Asked& asked);
void create_agent(const Asked& asked);
void get_agent(const Asked& asked);
void update_agent(const Asked& asked);
void delete_agent(const Asked& asked);

void get_self(const Asked& asked);

}  // namespace sluice::api::integration
