// A server of MCP at a URL (Streamable HTTP): each message is a POST, whose answer is JSON or a stream of events.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/mcp_link.h"
#include "tools/mcp_token.h"
#include "tools/options.h"

namespace sluice::tools {

// `headers`: as mcp_headers() has them. `token` null: the server needs none. `context` and `listener` must outlive it.
std::unique_ptr<McpCarrier> make_mcp_http(const Context& context, std::string url, std::vector<net::Header> headers,
                                          std::unique_ptr<McpToken> token, McpCarrierListener& listener);

}  // namespace sluice::tools
