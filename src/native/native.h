// One dispatch of a native agent: asks the model, emits what it says, answers its tool calls, asks
// again; until the model is done, or it cannot go on without a human, or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agents.h"
#include "base/lifetime.h"
#include "dispatch/dispatch.h"
#include "inference/inference.h"
#include "native/loop_checkpoint.h"
#include "native/prompt.h"
#include "native/retry.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/tools.h"

namespace sluice::native {

struct Options : RetryOptions {
  int tool_rounds_max = 50;
};

struct Setting {
  const Options& options;
  const std::vector<models::ToolSpec>& sandbox_tools;
};

class NativeLoop final : public dispatch::Work,
                         private inference::ModelCallListener,
                         private sessions::SessionListener,
                         private tools::CallRoundListener {
 public:
  // `setting` refers to what lives as long as `shared` does.
  NativeLoop(std::shared_ptr<const agents::Shared> shared, Setting setting, dispatch::Dispatch dispatch,
             dispatch::DispatchListener& listener);

  void stop(Callback<void()> gone) override;
  void go_on(std::vector<model::ClientResult> results) override;
  // What one round says and does is bounded; so none is begun.
  void hold_back(bool held) override;
  void suspend(bool suspended) override;

 private:
  // From one question to the model's `stop`.
  struct Round {
    std::string text;
    std::vector<models::ToolCall> calls;
    model::Usage usage;
    std::size_t emitted_bytes = 0;  // text and reasoning, also in the life before this one
  };

  void on_model_event(models::ModelEvent event) override;
  void on_unanswered(net::CallFailure failure, std::string what) override;
  void report_filler_trouble(const std::string& what);
  void on_session_question(egress::Question question) override;
  void on_session_failed(model::Slug slug, std::string detail) override { fail(slug, std::move(detail)); }
  void on_call_waits(tools::ApprovalRequest request) override;
  void on_answered(std::vector<models::ToolResult> results) override;
  void fail_without_sandbox(std::string_view tool);

  void start();
  void remember_emitted();
  void open_session(sessions::SessionState state);
  void open_toolbox(Callback<void()> ready);
  void show_host_tools();
  void take_up_calls(tools::CallState state);
  void take_up_checkpoint();
  // Of what counts against it while it works, not while it waits.
  void begin_clocks();
  void ask();
  std::string system_words() const;
  void hear_text(std::string text);
  void hear_reasoning(std::string text);
  void speak(model::EventKind kind, std::string text);
  // Whether what was said so far is within bounds; if not, the work has ended.
  bool is_bounded(std::size_t more_bytes);
  void end_round();
  void finish();
  std::string checkpoint() const;
  void raise_gate();
  void meet(const inference::ModelFailure& fault);
  void give_up(const inference::ModelFailure& fault, model::Slug slug, std::string detail);
  void log_words(std::string_view what) const;
  void fail_replay();

  void report_usage();
  void fail(model::Slug slug, std::string detail, std::optional<int64_t> retry_after_ms = std::nullopt);
  void stop_all();

  agents::RunContext context_;
  const Setting setting_;
  const dispatch::Dispatch dispatch_;
  dispatch::DispatchListener& listener_;
  inference::Route route_;
  models::Prompt prompt_;
  runs::EventOutput output_;
  agents::RunFiller filler_;

  Round round_;
  int round_count_ = 1;
  int attempt_ = 1;  // of this round
  int step_count_ = 0;
  std::size_t said_bytes_ = 0;
  std::string said_;  // where the files go, the whole answer goes too
  runs::Paragraphs paragraphs_;
  model::Usage usage_;
  Continuation continuation_;
  int64_t runtime_used_ms_ = 0;  // before it last waited
  int64_t runtime_began_us_ = 0;
  tools::ApprovalRequest request_;  // what a human will be asked, as soon as the workspace is held
  bool is_waiting_ = false;         // with its sandbox, for go_on()
  bool is_held_ = false;            // the next question waits
  bool wants_to_ask_ = false;

  world::Timer runtime_;
  world::Timer retry_;
  std::unique_ptr<inference::ModelCall> call_;
  std::unique_ptr<sessions::SandboxSession> session_;  // null: none, or no more
  std::size_t own_tool_count_ = 0;                     // of the prompt's tools, before the toolbox's
  std::unique_ptr<tools::Toolbox> toolbox_;
  std::unique_ptr<tools::CallRound> calls_;
  Lifetime lifetime_;
};

}  // namespace sluice::native
