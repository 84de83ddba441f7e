// The tool calls of one round, answered one after another, each told as a step (S-9).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "models/models.h"
#include "runner/command_run.h"
#include "runner/hands.h"
#include "runner/lifeline.h"
#include "runner/model_call.h"
#include "runner/tools.h"

namespace sluice::runner {

class CallRoundListener {
 public:
  virtual ~CallRoundListener() = default;
  virtual void on_call_event(model::EventKind kind, std::string body) = 0;
  // The last that is heard: one for each call, in their order.
  virtual void on_answered(std::vector<models::ToolResult> results) = 0;
};

class CallRound final : private CommandListener {
 public:
  // `context`, `hands` (null: there are none) and `listener` must outlive this. Steps are numbered on
  // from `step_count`, so that a run's ids are unique.
  CallRound(const Context& context, Hands* hands, std::vector<models::ToolCall> calls, int& step_count,
            CallRoundListener& listener);

  // The listener is called from inside, and may drop this whenever it is called.
  void begin() { next(); }
  // The run ends here: the step that is running has failed. The listener may drop this.
  void break_off(const std::string& why);

 private:
  void on_printed(sandbox::Stream stream, std::string text) override;
  void on_ended(sandbox::Exit exit, std::string printed) override;

  void next();
  void carry_out(ToolPlan plan);
  void answer(ToolAnswer answer);
  // False when the listener dropped this.
  bool end_step(const ToolAnswer& answer);
  bool tell(model::EventKind kind, std::string body);
  const models::ToolCall& call() const { return calls_[results_.size()]; }

  const Context& context_;
  Hands* const hands_;
  const std::vector<models::ToolCall> calls_;
  int& step_count_;
  CallRoundListener& listener_;

  std::vector<models::ToolResult> results_;
  std::string step_id_;  // empty: none is running
  int64_t step_began_us_ = 0;
  ToolPlan plan_;
  Lifeline lifeline_;
  std::unique_ptr<CommandRun> run_;
};

}  // namespace sluice::runner
