// A server of MCP that a run uses: the dialogue with it, over any transport.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/lifetime.h"
#include "mcp/mcp.h"
#include "runs/runs.h"
#include "tools/options.h"
#include "tools/toolbox.h"
#include "world/world.h"

namespace sluice::tools {

// The answer to a call may be so many times longer than other answers of a tool are (RunnerOptions), because all of it
// comes in one message; the model is shown the parts that fit.
inline constexpr std::size_t mcp_answer_factor = 8;
inline constexpr int64_t mcp_listing_ms_max = 10'000;        // of tools that have changed
inline constexpr std::size_t mcp_log_bytes_max = 64 * 1024;  // of one server, while no call of it is under way
inline constexpr std::size_t mcp_log_line_bytes_max = 2'000;

class McpCarrierListener {
 public:
  virtual ~McpCarrierListener() = default;
  virtual void on_mcp_message(std::string_view json) = 0;
  // What was sent for the call `number` gets no answer. 0: the dialogue itself, so there is no more of it.
  virtual void on_mcp_unanswered(uint64_t number, std::string why) = 0;
  // What was asked besides calls, once the dialogue had begun, gets no answer.
  virtual void on_mcp_question_lost(std::string why) = 0;
  // What the server says outside of answers is not heard any more.
  virtual void on_mcp_events_lost(std::string why) = 0;
};

class McpToken;

// Carries messages there and back. No callback comes from inside; the listener may drop it whenever it is called.
class McpCarrier {
 public:
  virtual ~McpCarrier() = default;
  // `number`: of the call that it is for; 0: of none.
  virtual void send(mcp::Outgoing message, uint64_t number) = 0;
  // The call is over: nothing more of it is wanted.
  virtual void leave(uint64_t number) = 0;
  // The dialogue has begun: what the server says outside of answers is heard from here on, where it says such.
  virtual void listen() = 0;
  // What the server and this side speak; empty: it is not known yet.
  virtual void agree_on(std::string_view version) = 0;
};

// A server at a URL (Streamable HTTP): each message is a POST, whose answer is JSON or a stream of events.
// `headers`: as mcp_headers() has them. `token` null: the server needs none. `context` and `listener` must outlive it.
std::unique_ptr<McpCarrier> make_mcp_http(const Context& context, std::string url, std::vector<net::Header> headers,
                                          std::unique_ptr<McpToken> token, McpCarrierListener& listener);

// A server that is a program in the sandbox: a message a line, on its standard streams.
// Started at once, in a session that is open. `session` and `listener` must outlive it; dropping it kills the program.
// `log` hears what it prints besides, within bounds.
std::unique_ptr<McpCarrier> start_mcp_stdio(sessions::SandboxSession& session, const model::McpServer& server,
                                            Callback<void(std::string line)> log, McpCarrierListener& listener);

class McpLinkListener {
 public:
  virtual ~McpLinkListener() = default;
  // A line of the server's log, while no call of it is under way. `level`: "debug", "info", "warn", "error".
  virtual void on_mcp_log(std::string_view level, std::string words) = 0;
  // The tools were listed anew.
  virtual void on_mcp_listed() = 0;
};

class McpLink final : public McpCarrierListener {
 public:
  // `context`, `dispatch` and `listener` must outlive it; the listener may drop it whenever it is called.
  McpLink(const Context& context, const dispatch::Dispatch& dispatch, std::string server, McpLinkListener& listener);
  ~McpLink() override;

  // `done` once its tools are known, or with the trouble when they are not within `ms_max`. Not from inside.
  void open(std::unique_ptr<McpCarrier> carrier, int64_t ms_max, Callback<void(std::string trouble)> done);
  const std::string& server() const { return server_; }
  // By the names that the server gives them.
  const std::vector<model::HostTool>& tools() const { return client_.tools(); }
  bool has_resources() const { return client_.has_resources(); }
  // They have changed, and the new ones are not known yet. It ends within `mcp_listing_ms_max`.
  bool is_listing() const { return lost_.empty() && client_.is_listing(); }
  // The arguments of such a call name a resource: {"uri": …}.
  [[nodiscard]] std::unique_ptr<HostCall> read(const models::ToolCall& call, HostCallListener& listener);
  [[nodiscard]] std::unique_ptr<HostCall> call(std::string_view tool, const models::ToolCall& call,
                                               HostCallListener& listener);

 private:
  class Call;

  void on_mcp_message(std::string_view json) override;
  void on_mcp_unanswered(uint64_t number, std::string why) override;
  void on_mcp_question_lost(std::string why) override;
  void on_mcp_events_lost(std::string why) override;

  void send_output();
  void give_up_listing(std::string_view why);
  void hear_all(std::vector<mcp::FromServer> news);
  void hear(mcp::FromServer message);
  void notice(const mcp::FromServer& message);
  void log(std::string_view level, std::string_view words);
  void lose(std::string why);
  // The call is over; with `is_left` the server has not answered it.
  void end(uint64_t number, bool is_left);

  const Context& context_;
  const dispatch::Dispatch& dispatch_;
  const std::string server_;
  McpLinkListener& listener_;
  std::size_t logged_bytes_ = 0;
  mcp::Client client_;
  std::string lost_;  // why it is of no more use; empty: it is not
  uint64_t call_count_ = 0;
  std::map<uint64_t, Call*> calls_;  // under way
  Callback<void(std::string)> opened_;
  world::Timer deadline_;
  bool was_listing_ = false;  // the deadline runs
  world::Timer listing_deadline_;
  Lifetime lifetime_;
  std::unique_ptr<McpCarrier> carrier_;
};

}  // namespace sluice::tools
