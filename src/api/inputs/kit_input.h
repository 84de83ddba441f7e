// The type of an agent, its command and its tools, as a request describes them.
#pragma once

#include "api/request/fields.h"
#include "api/request/request_context.h"

namespace sluice::api {

inline constexpr std::string_view kit_names[] = {"agent_type", "command",   "mcp_servers",
                                                 "tools",      "code_mode", "workspace"};
bool names_kit(const Fields& fields);

// Members that are left out are as in `before`; null is the default. What is invalid is in the findings.
model::AgentKit read_kit(const RequestPtr& request, const Fields& fields, const model::AgentKit& before);

// Reads name, description and JSON schema of a tool. `name` is required.
model::HostTool read_host_tool(const Fields& fields);

// "native, claude-code, …"
std::string agent_type_words();
// The id of an agent program's session, as a text or as the value of the event that contains it ({"sessionId": …}). An
// invalid id is refused.
std::optional<std::string> read_session_id(const Fields& fields, std::string_view name);

}  // namespace sluice::api
