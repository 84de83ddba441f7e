// Where a workflow run stands: a fold of its journal, and what is to be done next. It knows no store and no clock; the
// same events always lead to the same next step, which is why a run goes on after a restart as if nothing had been.
//
// Blocks are done one at a time, in the plan's order. A block is done when everything it follows is settled and at
// least one edge to it is taken; when none is, it is skipped. A block that fails ends the run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "flow/plan.h"

namespace sluice::flow {

// The code of a block whose run was cancelled: then the whole run was.
inline constexpr std::string_view cancelled_code = "run-cancelled";

struct BeginBlock {
  std::size_t block;
};
struct SkipBlock {
  std::size_t block;
};
struct CarryBlock {  // it was begun, and has not ended
  std::size_t block;
  std::optional<model::RunId> run_id;
};
struct FinishRun {
  model::WorkflowFinished end;
};
struct NothingLeft {};  // it is over
using NextStep = std::variant<BeginBlock, SkipBlock, CarryBlock, FinishRun, NothingLeft>;

class Progress {
 public:
  // `plan` must outlive it. `inputs` is a JSON object.
  Progress(const Plan& plan, const std::string& inputs);

  void apply(const model::WorkflowEvent& event);
  NextStep next() const;

  // What stands at a place of a template now.
  Result<std::string> value_of(const Place& place) const;
  std::vector<model::BlockState> blocks() const;

 private:
  struct State {
    model::BlockStatus status = model::BlockStatus::pending;
    std::optional<model::RunId> run_id;
    model::BlockOutputs outputs;
    std::optional<model::WorkflowError> error;
  };

  enum class Lead : uint8_t { waits, taken, not_taken };
  Lead lead_of(const Edge& edge) const;
  NextStep end_of(model::WorkflowRunStatus status, std::optional<model::WorkflowError> error) const;
  Result<std::string> json_at(const State& state, const BlockPlace& place) const;

  const Plan& plan_;
  std::map<std::string, std::string, std::less<>> inputs_;  // as a template shows them
  std::vector<State> states_;
  bool over_ = false;
};

}  // namespace sluice::flow
