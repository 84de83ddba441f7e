// A server of MCP that a run uses: the dialogue with it, whoever carries the messages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "mcp/mcp.h"
#include "runner/lifeline.h"
#include "runner/toolbox.h"
#include "world/world.h"

namespace sluice::runner {

// The answer to a call may be so many times longer than other answers of a tool are (RunnerOptions), because all of it
// comes in one message; the model is shown the parts that fit.
inline constexpr std::size_t mcp_answer_factor = 8;

class McpCarrierListener {
 public:
  virtual ~McpCarrierListener() = default;
  virtual void on_mcp_message(std::string_view json) = 0;
  // What was sent for the call `number` gets no answer. 0: the dialogue itself, so there is no more of it.
  virtual void on_mcp_unanswered(uint64_t number, std::string why) = 0;
};

// Carries messages there and back. No callback comes from inside; the listener may drop it whenever it is called.
class McpCarrier {
 public:
  virtual ~McpCarrier() = default;
  // `number`: of the call that it is for; 0: of none.
  virtual void send(mcp::Outgoing message, uint64_t number) = 0;
  // The call is over: nothing more of it is wanted.
  virtual void leave(uint64_t number) = 0;
  // What the server and this side speak; empty: it is not known yet.
  virtual void agree_on(std::string_view version) = 0;
};

class McpLink final : public McpCarrierListener {
 public:
  // `context` and `dispatch` must outlive it.
  McpLink(const Context& context, const harness::Dispatch& dispatch, std::string server);
  ~McpLink() override;

  // `done` once its tools are known, or with the trouble when they are not within `ms_max`. Not from inside.
  void open(std::unique_ptr<McpCarrier> carrier, int64_t ms_max, Callback<void(std::string trouble)> done);
  const std::string& server() const { return server_; }
  // By the names that the server gives them.
  const std::vector<model::HostTool>& tools() const { return client_.tools(); }
  [[nodiscard]] std::unique_ptr<HostCall> call(std::string_view tool, const models::ToolCall& call,
                                               HostCallListener& listener);

 private:
  class Call;

  void on_mcp_message(std::string_view json) override;
  void on_mcp_unanswered(uint64_t number, std::string why) override;

  void hear(mcp::FromServer told);
  void notice(const mcp::FromServer& told);
  void lose(std::string why);
  // The call is over; with `is_left` the server has not answered it.
  void end(uint64_t number, bool is_left);

  const Context& context_;
  const harness::Dispatch& dispatch_;
  const std::string server_;
  mcp::Client client_;
  std::string lost_;  // why it is of no more use; empty: it is not
  uint64_t call_count_ = 0;
  std::map<uint64_t, Call*> calls_;  // under way
  Callback<void(std::string)> opened_;
  world::Timer deadline_;
  Lifeline lifeline_;
  std::unique_ptr<McpCarrier> carrier_;
};

}  // namespace sluice::runner
