// A server of MCP at a URL (Streamable HTTP): each message is a POST, whose answer is JSON or a stream of events. It is
// called from outside the box, so both the operator's rules on URLs and the agent's on hosts count.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "runner/mcp_link.h"

namespace sluice::runner {

// The server's headers, with secrets put in. `denied`, with the reason in words, when the server must not be called
// or a secret must not go there.
Result<std::vector<net::Header>> mcp_headers(const Context& context, const harness::Dispatch& dispatch,
                                             const model::McpServer& server);

// `context` and `listener` must outlive it.
std::unique_ptr<McpCarrier> make_mcp_http(const Context& context, std::string url, std::vector<net::Header> headers,
                                          McpCarrierListener& listener);

}  // namespace sluice::runner
