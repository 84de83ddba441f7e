// The Assistant: chats for people (docs/assistant.md).
#pragma once

#include "api/routes.h"

namespace sluice::api::assistant {

void send_turn(const Asked& asked);
void follow_turn(const Asked& asked);

void list_chats(const Asked& asked);
void get_chat(const Asked& asked);
void rename_chat(const Asked& asked);
void delete_chat(const Asked& asked);
void stop_chat(const Asked& asked);

void upload_chat_files(const Asked& asked);
void upload_files(const Asked& asked);
void list_chat_files(const Asked& asked);
void get_chat_files_zip(const Asked& asked);
void get_file(const Asked& asked);
void delete_file(const Asked& asked);

// The same below /api/workspaces.
void list_workspace_files(const Asked& asked);
void upload_workspace_files(const Asked& asked);
void get_workspace_file(const Asked& asked);
void get_workspace_file_content(const Asked& asked);
void delete_workspace_file(const Asked& asked);

}  // namespace sluice::api::assistant
