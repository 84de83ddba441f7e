// The tools of an agent: those of its sandbox, webhooks, MCP servers, scripts that call other tools, those of the
// client, and those that ask a human. Here is how they are described to a model, what the agent's policy says of a
// call, and how a round of calls is carried out and reported, each as one step of the run.
//
// Called on the loop's thread. Which calls are made is decided by the native loop or by an agent program.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.h"
#include "dispatch/dispatch.h"
#include "model/model.h"
#include "models/models.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/ask_tools.h"      // IWYU pragma: export
#include "tools/mcp_endpoint.h"   // IWYU pragma: export
#include "tools/options.h"        // IWYU pragma: export
#include "tools/sandbox_tools.h"  // IWYU pragma: export
#include "tools/tool_policy.h"    // IWYU pragma: export
#include "tools/toolbox.h"        // IWYU pragma: export

namespace sluice::tools {

// The toolbox of one run: what its agent, its environment and its client bring along.
// `context`, `dispatch` and `session` (null: there are none) must outlive it.
std::unique_ptr<Toolbox> make_toolbox(const Context& context, const dispatch::Dispatch& dispatch,
                                      sessions::SandboxSession* session);

// What a human was asked for the call that waits, and so what the call does once it is approved.
enum class Asked : uint8_t {
  nothing,  // no call waits
  leave,    // the policy asks: it is carried out
  answer,   // request_approval, request_secret: it is answered
  secret,   // its command's request needs a secret: the request goes on, or the command is run again
  passage,  // the same for a host
  client,   // the client carries it out, and those after it that `items` name: they are answered with its results
};

// How far the tool calls of one round are: all that is needed to continue them in another life.
struct CallState {
  std::vector<models::ToolCall> calls;
  std::vector<models::ToolResult> results;  // of the first of them; the next is under way
  std::string step_id;                      // of that one; empty: it has not begun
  int64_t step_used_ms = 0;
  Asked asked = Asked::nothing;
  std::vector<model::RequestedItem> items;  // what was asked for
  std::string host;                         // of Asked::passage
  bool may_run_again = true;                // its command has sent nothing that must not be sent twice
  std::vector<std::string> changed;         // by its command, for people; empty: nothing in the workspace
};

class CallRoundListener {
 public:
  virtual ~CallRoundListener() = default;
  // The round waits until go_on(), of this or of another that begins with its state().
  virtual void on_call_waits(ApprovalRequest request) = 0;
  // The last call: one result for each call, in their order.
  virtual void on_answered(std::vector<models::ToolResult> results) = 0;
};

// The tool calls of one round, answered one after another, each reported as a step (S-9). Before a call is carried out
// the agent's policy is asked; where a human must be, the round waits. It waits too for what the client carries out
// itself: for all such calls that follow each other at once.
class CallRound final : private sessions::CommandListener, private HostCallListener {
 public:
  struct Needs {
    const Context& context;
    const dispatch::Dispatch& dispatch;
    sessions::SandboxSession* session;  // null: there are none
    Toolbox& toolbox;
    runs::EventOutput& output;  // whose listener may drop this whenever it is called
    int& step_count;            // steps are numbered on from it, so that a run's ids are unique
  };
  // All needs and `listener` must outlive this.
  CallRound(Needs needs, CallState state, CallRoundListener& listener);

  // The listener is called from inside, and may drop this whenever it is called.
  void begin() { next(); }
  // A human agreed to what the call that waits asked for, or the client gave results.
  void go_on(const std::vector<model::ClientResult>& results);
  // A request of the sandbox waits at its way out.
  void hear(egress::Question question);
  // The run ends here: the step that is running has failed. The listener may drop this.
  void break_off(const std::string& why);

  // While it waits. The command is broken off: its sandbox goes away. So may the toolbox.
  void let_go();
  // What the command that waits changed in the workspace.
  void note_changed(const std::vector<std::string>& paths);
  const CallState& state() const { return state_; }

 private:
  void on_printed(sandbox::Stream stream, std::string text) override;
  void on_ended(sandbox::Exit exit, std::string printed) override;
  void on_host_custom(std::string_view name, std::string_view value) override;
  void on_host_output(std::string_view text) override;
  void on_host_answer(runs::ToolAnswer answer) override { this->answer(std::move(answer)); }

  void next();
  void begin_call();
  void begin_asking();
  void obey_policy();
  void carry_out();
  void carry_out_in_box();
  void ask_client();
  void take_client_results(const std::vector<model::RequestedItem>& items,
                           const std::vector<model::ClientResult>& results);
  // False when the listener dropped this.
  bool report_unknown(const std::vector<model::RequestedItem>& items, const std::vector<model::ClientResult>& results);
  void repeat_or_report(Asked asked, const std::vector<model::RequestedItem>& items);
  void run_again();
  void look_at_questions();
  void wait(Asked asked, ApprovalRequest request);
  void answer(runs::ToolAnswer answer);
  // False when the listener dropped this.
  bool record(runs::ToolAnswer answer);
  bool end_step(const runs::ToolAnswer& answer);
  bool emit(const model::EventData& event);
  const models::ToolCall& call() const { return state_.calls[state_.results.size()]; }
  bool is_host_call() const { return needs_.toolbox.has(call().name); }
  bool is_waiting() const { return state_.asked != Asked::nothing; }
  std::string clean(std::string text) const { return runs::scrubbed(needs_.dispatch.secrets, std::move(text)); }

  const Needs needs_;
  CallRoundListener& listener_;

  CallState state_;
  int64_t began_us_ = 0;  // of the step, or since it last waited
  ToolPlan plan_;
  int64_t sent_before_ = 0;                 // for good, before the command began
  std::deque<egress::Question> questions_;  // the first is the one that is asked
  Lifetime lifetime_;
  std::unique_ptr<sessions::CommandRun> run_;
  std::unique_ptr<HostCall> host_call_;
};

}  // namespace sluice::tools
