// One dispatch that an agent program carries out: the program runs in the run's sandbox, speaks over its standard input
// and output (harness/dialect.h), and what it says becomes events. Questions of the program, and calls of the host's
// tools, are judged by the agent's policy; where a human must be asked, the run waits with the program standing still
// (a conversation that keeps its sandbox) or ended and resumed afterwards (any other).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agents.h"
#include "base/lifetime.h"
#include "base/task.h"
#include "dispatch/dispatch.h"
#include "harness/harness.h"
#include "inference/inference.h"
#include "programs/options.h"
#include "programs/program_calls.h"
#include "programs/program_checkpoint.h"
#include "programs/program_events.h"
#include "programs/program_launch.h"
#include "programs/program_steps.h"
#include "programs/silence_watch.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/tools.h"

namespace sluice::programs {

class ProgramWork final : public dispatch::Work,
                          private sessions::SessionListener,
                          private sandbox::ProcessListener,
                          private tools::BridgeUser,
                          private ProgramEventsUser,
                          private ProgramCallsUser {
 public:
  // `options` live as long as `shared` does.
  ProgramWork(std::shared_ptr<const agents::Shared> shared, const ProgramOptions& options, dispatch::Dispatch dispatch,
              dispatch::DispatchListener& listener, ProgramMakers makers = {});

  void stop(Callback<void()> gone) override;
  void go_on(std::vector<model::ClientResult> results) override;
  void hold_back(bool held) override {
    is_held_back_ = held;
    read_or_pause();
  }
  void suspend(bool suspended) override {
    if (parts_.session) parts_.session->suspend(suspended);
    context_.suspend(suspended);
  }

 private:
  enum class Phase : uint8_t {
    opening,    // the sandbox, the tools, the program's files
    running,    // the program is at its turn
    ending,     // its turn is over, its process is not
    parking,    // it is ended, because a human is asked
    holding,    // what it changed is held
    waiting,    // for go_on(), with the sandbox
    finishing,  // the workspace is kept
  };

  // ── reports of the session, the process and the bridge ──
  void on_session_question(egress::Question asked) override;
  void on_session_failed(model::Slug slug, std::string detail) override { fail(slug, std::move(detail)); }
  void on_output(sandbox::Stream stream, std::string_view bytes) override;
  void on_exit(sandbox::Exit exit) override;
  void on_bridge_call(tools::BridgeCall call) override;
  void on_bridge_call_left(uint64_t number) override;

  // ── from nothing to a program at work ──
  void start();
  bool take_up_checkpoint();
  void begin_clocks();
  void open_sandbox();
  Task<Result<Unit>> prepare_program();
  harness::Assignment assignment() const;
  void start_program();
  // The program is not read while the journal is full, nor while a human is asked. It waits by itself then.
  void read_or_pause();
  SilenceWatch::Reason silence_reason() const;

  // ── its turn ──
  void hear(std::vector<harness::Heard> heard);

  void on_heard(harness::Heard& heard) override;

  // ── what its calls need ──
  void pump() override;
  void on_questions() override;

  // ── waiting for a human ──
  void begin_wait();
  void end_for_wait();
  void hold();
  void raise_gate();
  std::string checkpoint() const;
  void resume_program();

  // ── the end ──
  void finish_turn();
  void conclude();
  void keep_session();
  void finish();
  void fail(model::Slug slug, std::string detail) override;
  void stop_all();

  const std::string& agent_type() const { return dispatch_.agent.kit.agent_type; }
  int64_t now_us() const { return context_.now_us(); }

  agents::RunContext context_;
  const ProgramOptions& options_;
  dispatch::Dispatch dispatch_;  // whose policy allows the model's host
  dispatch::DispatchListener& listener_;
  runs::EventOutput output_;
  ProgramSteps steps_;

  Phase phase_ = Phase::opening;
  bool is_held_back_ = false;
  bool is_deferred_ = false;  // the program goes on by itself when it is resumed
  std::string complaints_;    // the end of its standard error
  bool is_input_closed_ = false;
  bool is_turn_over_ = false;  // as was heard when a human was being asked already

  int64_t runtime_used_ms_ = 0;  // before it last waited
  int64_t runtime_began_us_ = 0;
  world::Timer runtime_, end_;

  sessions::SessionState session_state_;  // of the checkpoint
  ProgramParts parts_;
  agents::RunFiller filler_;
  ProgramLaunch launch_;
  ProgramEvents events_;
  ProgramCalls calls_;  // before its toolbox and its endpoint go
  SilenceWatch silence_;
  Sequence sequence_;  // prepares the program, or keeps its session
  Lifetime lifetime_;
};

}  // namespace sluice::programs
