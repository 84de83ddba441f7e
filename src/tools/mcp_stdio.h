// A server of MCP that is a program in the sandbox: a message a line, on its standard streams.
#pragma once

#include <memory>
#include <string>

#include "base/callback.h"
#include "tools/mcp_link.h"

namespace sluice::tools {

// Started at once, in a session that is open. `session` and `listener` must outlive it; dropping it kills the program.
// `log` hears what it prints besides, within bounds.
std::unique_ptr<McpCarrier> start_mcp_stdio(sessions::SandboxSession& session, const model::McpServer& server,
                                            Callback<void(std::string line)> log, McpCarrierListener& listener);

}  // namespace sluice::tools
