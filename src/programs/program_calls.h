// The calls of an agent program that wait for an answer of ours: permissions that it asks for, tools of the host that
// it calls, and requests of its sandbox that are held. The agent's policy judges them; what a human must decide is
// queued here until the run asks. On the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.h"
#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "harness/harness.h"
#include "model/model.h"
#include "programs/program_checkpoint.h"
#include "programs/program_events.h"
#include "programs/program_steps.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/tools.h"

namespace sluice::programs {

// What serves the program while it runs. The run replaces them when another process of the program goes on.
struct ProgramParts {
  std::unique_ptr<sessions::SandboxSession> session;  // null: none, or no more
  std::unique_ptr<tools::Toolbox> toolbox;
  std::unique_ptr<tools::McpEndpoint> endpoint;
  std::unique_ptr<harness::Dialect> dialect;
  std::unique_ptr<sandbox::Process> process;
};

// Something that waits for an answer of ours.
struct ProgramQuestion {
  enum class From : uint8_t { permission, channel, bridge, way_out };
  From from = From::permission;
  uint64_t number = 0;  // of the dialect, the bridge or the way out
  harness::ProgramCall call;
  std::string step_id;
  ProgramAsked asked = ProgramAsked::leave;
  tools::ApprovalRequest request;  // of a human
  std::string host;                // From::way_out, about a host
  bool left = false;               // the program waits for the answer no more
};

class ProgramCallsUser {
 public:
  virtual ~ProgramCallsUser() = default;
  // The dialect has something for the program.
  virtual void pump() = 0;
  // A human may have to be asked: ask_next().
  virtual void on_questions() = 0;
};

class ProgramCalls final {
 public:
  struct Needs {
    world::Loop& loop;
    const dispatch::Dispatch& dispatch;
    runs::EventOutput& output;
    ProgramSteps& steps;
    ProgramEvents& events;
    ProgramParts& parts;
  };
  // All must outlive this. The user may drop it whenever it is called.
  ProgramCalls(Needs needs, ProgramCallsUser& user);
  ~ProgramCalls();
  ProgramCalls(const ProgramCalls&) = delete;
  ProgramCalls& operator=(const ProgramCalls&) = delete;

  // The program asks whether it may.
  void judge_permission(const harness::Heard& heard);
  // The program calls a tool of the host.
  void begin_host_call(ProgramQuestion question);
  // The program waits for it no more.
  void withdraw(ProgramQuestion::From from, uint64_t number);
  // A request waits at the sandbox's way out. `can_wait`: the run is at a point where a human can be asked.
  void judge_request(const egress::Question& asked, bool can_wait);

  // Takes from the queue what a human is asked next, into asked(). False: nothing, or not yet.
  bool ask_next();
  const std::vector<ProgramQuestion>& asked() const { return asked_; }
  // A human agreed to all that is asked(). False when the run is over or was dropped.
  bool go_on(const std::vector<model::ClientResult>& results);

  // ── for a checkpoint, and from one ──
  std::vector<AskedCall> asked_calls() const;
  const std::vector<DecidedCall>& decided() const { return decided_; }
  void restore(std::vector<AskedCall> asked, std::vector<DecidedCall> decided,
               const std::vector<model::ClientResult>& results);
  // What a human agreed to while no process of the program was there to hear it.
  const std::vector<AskedCall>& resumed() const { return resumed_; }
  void forget_resumed() { resumed_.clear(); }

  void end_turn();
  // Breaks off what tools of the host do.
  void stop();
  // The process is gone: nothing that it asked is answered.
  void forget();
  bool is_any_waiting() const;

 private:
  class AtWork;

  // A human is to be asked, together with what else comes in this turn of the loop.
  void wait_for(ProgramQuestion question, ProgramAsked asked, tools::ApprovalRequest request);
  // A request of the sandbox goes on, if a human has allowed it meanwhile.
  bool settle_if_decided(const ProgramQuestion& question);
  void answer_ask_tool(ProgramQuestion question);
  void carry_out(ProgramQuestion question);
  void end_call(const AtWork& call, runs::ToolAnswer answer);
  void reply(const ProgramQuestion& question, runs::ToolAnswer answer);
  void allow(const ProgramQuestion& question);
  void grant(ProgramQuestion& question, const std::vector<model::ClientResult>& results);
  bool is_of_host(std::string_view tool) const;
  bool is_settled(const ProgramQuestion& question) const;
  std::optional<DecidedCall> take_decision(const harness::ProgramCall& call);

  world::Loop& loop_;
  const dispatch::Dispatch& dispatch_;
  runs::EventOutput& output_;
  ProgramSteps& steps_;
  ProgramEvents& events_;
  ProgramParts& parts_;
  ProgramCallsUser& user_;
  std::deque<ProgramQuestion> questions_;  // for a human, who is asked one at a time
  std::vector<ProgramQuestion> asked_;     // what the human is asked
  std::vector<AskedCall> resumed_;         // what a human agreed to, when the program is resumed
  std::vector<DecidedCall> decided_;
  bool is_considering_ = false;
  std::vector<std::unique_ptr<AtWork>> at_work_;
  Lifetime lifetime_;
};

}  // namespace sluice::programs
