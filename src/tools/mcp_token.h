// The token that a server of MCP takes, got by client credentials (RFC 6749, section 4.4) from the endpoint that the
// agent names, or that the server's own metadata lead to (mcp_discovery.h). It is in memory for as long as the run's
// dialogue with the server, and pinned to the run's secrets, so that nothing that the run shows has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/task.h"
#include "net/net.h"
#include "tools/mcp_discovery.h"
#include "tools/options.h"
#include "world/world.h"

namespace sluice::tools {

inline constexpr int64_t mcp_token_ms_max = 10'000;  // from the first question to the token
inline constexpr std::size_t mcp_token_answer_bytes_max = 64 * 1024;
inline constexpr int64_t mcp_token_margin_seconds = 30;  // renewed so long before it expires
// Each is looked for in all that the run shows from then on.
inline constexpr int mcp_tokens_max = 100;

class McpToken final {
 public:
  // All must outlive it. `server` has `oauth`.
  McpToken(const Context& context, const dispatch::Dispatch& dispatch, const model::McpServer& server);

  const std::string& value() const { return value_; }  // empty: none yet
  // It must be fetched before the next request is sent.
  bool is_due() const;
  // The server answered 401 to a request that was sent with the token `sent` (empty: without one).
  void refuse(std::string_view sent, McpChallenge challenge);
  bool is_being_fetched() const { return static_cast<bool>(done_); }
  // Once at a time. `fault` in words; empty: value() is new. Not from inside; dropping this cancels it.
  void fetch(Callback<void(std::string fault)> done);

 private:
  struct Answer {
    int status = 0;
    std::string body;
  };
  class Request;

  // These give the fault in words; empty: it went well.
  Task<std::string> fetch_token();
  Task<std::string> discover();
  Task<std::string> ask_for_token();
  // What the first of the URLs answers whose answer is usable.
  template <typename T>
  Task<Result<T>> look(std::vector<std::string> urls, std::string whose, Callback<Result<T>(std::string_view)> read);
  Task<Result<Answer>> call(net::ClientRequest request);
  std::string fault_of(std::string_view url) const;
  void take(McpGrant grant);
  void end(std::string fault);

  const Context& context_;
  const dispatch::Dispatch& dispatch_;
  const model::McpServer& server_;
  McpChallenge challenge_;
  McpIssuer issuer_;  // without a token_url: not discovered yet
  std::string resource_;
  std::string value_;
  bool is_wanted_ = false;
  int64_t renew_at_us_ = 0;  // 0: it is not known when it expires
  int count_ = 0;

  Callback<void(std::string)> done_;
  std::string url_;  // that is asked
  world::Timer deadline_;
  Sequence fetching_;
};

}  // namespace sluice::tools
