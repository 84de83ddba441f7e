// One dispatch that an agent program carries out: the program runs in the run's box, speaks over its standard input and
// output (harness/dialect.h), and what it says is told. Questions of the program, and calls of the host's tools, are
// judged by the agent's policy; where a human must be asked, the run waits with the program standing still (a
// conversation that keeps its box) or ended and resumed afterwards (any other).
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
#include "harness/dialect.h"
#include "harness/harness.h"
#include "inference/inference.h"
#include "programs/options.h"
#include "programs/program_checkpoint.h"
#include "programs/program_home.h"
#include "programs/program_model.h"
#include "programs/program_steps.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/tools.h"

namespace sluice::programs {

// Where launches and dialects come from; tests have their own.
struct ProgramMakers {
  std::function<Result<harness::Launch>(const harness::Assignment&)> plan = harness::plan_launch;
  std::function<std::unique_ptr<harness::Dialect>(const harness::Assignment&)> dialect = harness::make_dialect;
  std::function<bool(std::string_view agent_type)> can_defer = harness::can_defer;
};

class ProgramWork final : public harness::Work,
                          private sessions::SessionListener,
                          private sandbox::ProcessListener,
                          private tools::BridgeUser,
                          private inference::FillerListener {
 public:
  // `options` live as long as `shared` does.
  ProgramWork(std::shared_ptr<const agents::Shared> shared, const ProgramOptions& options, harness::Dispatch dispatch,
              harness::DispatchListener& listener, ProgramMakers makers = {});

  void stop(Callback<void()> gone) override;
  void go_on(std::vector<model::ClientResult> results) override;
  void hold_back(bool held) override {
    is_held_back_ = held;
    read_or_pause();
  }
  void suspend(bool suspended) override {
    if (session_) session_->suspend(suspended);
    context_.suspend(suspended);
  }

 private:
  enum class Phase : uint8_t {
    opening,    // the box, the tools, the program's files
    running,    // the program is at its turn
    ending,     // its turn is over, its process is not
    parking,    // it is ended, because a human is asked
    holding,    // what it changed is held
    waiting,    // for go_on(), with the box
    finishing,  // the workspace is kept
  };
  // Something that waits for an answer of ours.
  struct Question {
    enum class From : uint8_t { permission, channel, bridge, way_out };
    From from = From::permission;
    uint64_t number = 0;  // of the dialect, the bridge or the way out
    harness::ProgramCall call;
    std::string step_id;
    ProgramAsked asked = ProgramAsked::leave;
    tools::ApprovalRequest request;  // of a human
    std::string host;                // From::way_out, about a host
    bool left = false;               // nobody waits for the answer any more
  };
  // A host's tool at work.
  class Errand final : private tools::HostCallListener {
   public:
    Errand(ProgramWork& work, Question asked);
    const Question question;

   private:
    void on_host_custom(std::string_view name, std::string_view value) override;
    void on_host_output(std::string_view text) override;
    void on_host_answer(runs::ToolAnswer answer) override;

    ProgramWork& work_;
    std::unique_ptr<tools::HostCall> call_;
  };

  // ── what is heard ──
  void on_session_question(egress::Question asked) override;
  void on_session_failed(model::Slug slug, std::string detail) override { fail(slug, std::move(detail)); }
  void on_output(sandbox::Stream stream, std::string_view bytes) override;
  void on_exit(sandbox::Exit exit) override;
  void on_bridge_call(tools::BridgeCall call) override;
  void on_bridge_call_left(uint64_t number) override;
  void on_filler(std::string text) override { output_.speak(model::EventKind::filler, std::move(text)); }
  void on_filler_trouble(std::string what) override;

  // ── from nothing to a program at work ──
  void start();
  // `invalid` and `unavailable`: why it cannot be. Nothing was started.
  Result<Unit> prepare();
  std::string program_path() const;
  bool take_up_checkpoint();
  void begin_clocks();
  bool begins_session() const;
  void open_box();
  void open_toolbox();
  harness::Assignment assignment() const;
  std::string prompt() const;
  void write_files();
  void start_program();
  // The program is not read while the journal is full, nor while a human is asked. It waits by itself then.
  void read_or_pause();

  // ── its turn (program_turn.cc) ──
  void hear(std::vector<harness::Heard> heard);
  void hear(harness::Heard& heard);
  void hear_session(std::string session_id);
  void hear_words(harness::Heard& heard);
  void hear_replaced(std::size_t kept_bytes);
  void hear_usage(const model::Usage& usage);
  void hear_custom(const harness::Heard& heard);
  // Gives the program what the dialect has for it.
  void pump();
  void watch_silence();
  void look_for_silence();
  bool is_bounded(std::size_t more_bytes);
  bool fits_journal(const harness::Heard& heard);
  void end_filler();
  std::string said() const;

  // ── calls that are asked about (program_calls.cc) ──
  // False when the run is over, or the listener dropped this.
  bool tell_refusal(const harness::ProgramCall& call, std::string_view why);
  void judge_permission(const harness::Heard& heard);
  void begin_host_call(Question question);
  void begin_asking(Question question);
  void carry_out(Question question);
  void end_errand(const Errand& errand, runs::ToolAnswer answer);
  void reply(const Question& question, runs::ToolAnswer answer);
  void withdraw(Question::From from, uint64_t number);
  bool is_of_host(std::string_view tool) const;
  std::optional<DecidedCall> take_decision(const harness::ProgramCall& call);
  void allow(const Question& question);

  // ── waiting for a human (program_wait.cc) ──
  void wait_for(Question question, ProgramAsked asked, tools::ApprovalRequest request);
  void consider_gate();
  void begin_wait();
  void end_for_wait();
  void hold();
  void raise_gate();
  std::string checkpoint() const;
  void grant(Question& question, const std::vector<model::ClientResult>& results);
  void resume_program();
  bool is_settled(const Question& question) const;

  // ── the end ──
  void finish_turn();
  void conclude();
  void keep_session();
  void finish();
  void fail(model::Slug slug, std::string detail);
  void stop_all();

  // False when the listener dropped this.
  bool emit(StepEvents events);
  std::string clean(std::string text) const { return output_.scrubbed(std::move(text)); }
  const std::string& agent_type() const { return dispatch_.agent.kit.agent_type; }
  int64_t now_us() const { return context_.now_us(); }

  agents::RunContext context_;
  const ProgramOptions& options_;
  const ProgramMakers makers_;
  harness::Dispatch dispatch_;  // whose policy allows the model's host
  harness::DispatchListener& listener_;
  runs::EventOutput output_;
  ProgramSteps steps_;
  ProgramModel model_;
  const inference::ProviderFigures* figures_ = nullptr;

  Phase phase_ = Phase::opening;
  bool is_held_back_ = false;
  std::string session_id_;    // empty: none yet
  std::string told_session_;  // as it was told
  ProgramOptions::Place place_;
  bool is_deferred_ = false;  // the program goes on by itself when it is resumed
  std::string said_before_;   // by an earlier process of the run, as it was told
  std::string raw_;           // by this one
  struct Break {
    std::size_t at = 0;  // of raw_: before these bytes it was told
    std::string text;
  };
  std::vector<Break> breaks_;
  runs::Paragraphs paragraphs_;
  std::size_t said_bytes_ = 0;
  std::size_t event_bytes_ = 0;
  bool has_spoken_ = false;  // real words: no more filler
  std::string refusal_;      // what the policy last refused, as long as no words followed
  int64_t filler_count_ = 0;
  model::Usage usage_before_, usage_;
  std::string complaints_;  // the end of its standard error
  bool is_input_closed_ = false;
  bool is_turn_over_ = false;  // as was heard when a human was being asked already

  std::deque<Question> questions_;  // for a human, who is asked one at a time
  std::vector<Question> asked_;     // what the human is asked
  std::vector<AskedCall> resumed_;  // what a human agreed to, when the program is resumed
  std::vector<DecidedCall> decided_;
  bool is_considering_ = false;

  int64_t runtime_used_ms_ = 0;  // before it last waited
  int64_t runtime_began_us_ = 0;
  int64_t started_us_ = 0;
  int64_t heard_us_ = 0;  // 0: nothing yet
  runs::Lifeline lifeline_;
  world::Timer runtime_, silence_, end_;
  std::unique_ptr<inference::Filler> filler_;

  sessions::SessionState session_state_;               // of the checkpoint
  std::unique_ptr<sessions::SandboxSession> session_;  // null: none, or no more
  std::unique_ptr<ProgramHome> home_;
  std::unique_ptr<tools::Toolbox> toolbox_;
  std::vector<std::unique_ptr<Errand>> errands_;
  std::unique_ptr<tools::McpEndpoint> door_;
  std::unique_ptr<harness::Dialect> dialect_;
  std::unique_ptr<sandbox::Process> process_;
};

}  // namespace sluice::programs
