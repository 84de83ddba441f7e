// The program that is the agent, and the tools it is given, as a caller writes them.
#pragma once

#include "api/request/fields.h"
#include "api/request/request_context.h"

namespace sluice::api {

inline constexpr std::string_view kit_names[] = {"agent_type", "command",   "mcp_servers",
                                                 "tools",      "code_mode", "workspace"};
bool names_kit(const Fields& fields);

// What is left out is as in `before`; null is the default. What is wrong is in the findings.
model::AgentKit read_kit(const RequestPtr& request, const Fields& fields, const model::AgentKit& before);

// A tool's name, description and JSON schema. `name` must be there.
model::HostTool read_host_tool(const Fields& fields);

// "native, claude-code, …"
std::string agent_type_words();
// The id of an agent program's session, as itself or as the value of the event that told it ({"sessionId": …}). Refused
// when it cannot be one.
std::optional<std::string> read_session_id(const Fields& fields, std::string_view name);

}  // namespace sluice::api
