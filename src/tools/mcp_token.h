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

class McpToken final : private net::CallListener {
 public:
  // All must outlive it. `server` has `oauth`.
  McpToken(const Context& context, const dispatch::Dispatch& dispatch, const model::McpServer& server);

  const std::string& value() const { return value_; }  // empty: none yet
  // It must be fetched before the next request is sent.
  bool is_due() const;
  // The server answered 401 to a request that was sent with the token `sent` (empty: without one).
  void refuse(std::string_view sent, McpChallenge challenge);
  bool is_being_fetched() const { return static_cast<bool>(done_); }
  // Once at a time. `fault` in words; empty: value() is new. Not from inside; dropping this drops it.
  void fetch(Callback<void(std::string fault)> done);

 private:
  enum class Step : uint8_t { resource, issuer, token };

  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  void begin();
  void look(Step step, std::vector<std::string> urls);
  void look_on();
  void miss(const std::string& why);
  void hear();
  void hear_grant();
  void ask_for_token();
  void call(net::ClientRequest request);
  std::string fault_of(std::string_view url) const;
  void end(std::string fault);

  const Context& context_;
  const dispatch::Dispatch& dispatch_;
  const model::McpServer& server_;
  McpChallenge challenge_;
  McpIssuer issuer_;        // without a token_url: not discovered yet
  std::string issuer_url_;  // while it is being discovered
  std::string resource_;
  std::string value_;
  bool is_wanted_ = false;
  int64_t renew_at_us_ = 0;  // 0: it is not known when it expires
  int count_ = 0;

  Callback<void(std::string)> done_;
  Step step_ = Step::resource;
  std::vector<std::string> urls_;  // where the answer of this step may be, the next one last
  std::string url_;
  int status_ = 0;
  std::string body_;
  world::Timer start_;
  world::Timer deadline_;
  std::unique_ptr<net::Call> call_;
};

}  // namespace sluice::tools
