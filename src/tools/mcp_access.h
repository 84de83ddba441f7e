// Where a server of MCP may lead this server, and which secrets may go there. It is called from outside the sandbox, so
// both the operator's rules on URLs and the agent's on hosts count, for every URL that has to do with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gates.h"
#include "tools/mcp_link.h"
#include "tools/options.h"

namespace sluice::tools {

// `denied`, with the reason in words, where `url` must not be called.
Result<Unit> may_call_for_mcp(const Context& context, const dispatch::Dispatch& dispatch, std::string_view url);

// `text` with its {{secret:ALIAS}} filled in. `denied` where one must not be sent to `url` in that place of a request.
Result<std::string> with_secrets(const Context& context, const dispatch::Dispatch& dispatch, std::string_view text,
                                 std::string_view url, model::SecretPlace place);

// The server's headers, with secrets put in. `denied`, with the reason in words, when the server must not be called
// or a secret must not go there.
Result<std::vector<net::Header>> mcp_headers(const Context& context, const dispatch::Dispatch& dispatch,
                                             const model::McpServer& server);

bool is_over_tls(std::string_view url);

}  // namespace sluice::tools
