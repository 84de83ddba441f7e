// What is done for one block that takes time. Dropping it drops what it waits for; a run of the engine's goes on.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "flow/flow.h"
#include "flow/progress.h"

namespace sluice::flow {

class BlockListener {
 public:
  virtual ~BlockListener() = default;
  // Its run is there to be read.
  virtual void on_block_run() = 0;
  // The block has ended; once. The work may be dropped from inside.
  virtual void on_block_ended(model::BlockOutputs outputs, std::optional<model::WorkflowError> error) = 0;
  // The server stops; the next one continues the block. No further call follows.
  virtual void on_block_left() = 0;
};

class BlockWork {
 public:
  virtual ~BlockWork() = default;
  // Ends it; the listener hears of the end, whichever it was, when nothing is left at work.
  virtual void cancel() = 0;
  // The server stops: what merely waits to try again is left.
  virtual void drain() = 0;
};

// One block of one run, begun.
struct Task {
  const model::WorkflowRun& run;
  const Plan& plan;
  const Progress& progress;
  std::size_t block;
  std::optional<model::RunId> run_id;
  bool is_fresh;  // no attempt has been made yet

  const Block& what() const { return plan.definition.blocks[block]; }
  Result<std::string> words(const Template& text, std::size_t bytes_max, Writing writing = Writing::plain) const {
    return render(text, [this](const Place& place) { return progress.value_of(place); }, bytes_max, writing);
  }
};

// No callback comes from inside. Whatever the task refers to must outlive the work.
std::unique_ptr<BlockWork> make_run_work(const FlowNeeds& needs, const FlowOptions& options, const Task& task,
                                         BlockListener& listener);
std::unique_ptr<BlockWork> make_http_work(const FlowNeeds& needs, const FlowOptions& options, const Task& task,
                                          BlockListener& listener);

// A condition takes no time. "true" or "false", or why it cannot be said.
Result<bool> holds(const ConditionBlock& condition, const Task& task);

// `text` as a block's response, cut where it is too long, and as JSON where it is that.
model::BlockOutputs outputs_of(std::string text);

inline model::WorkflowError was_cancelled() {
  return {std::string(cancelled_code), "The workflow run was cancelled by request."};
}

}  // namespace sluice::flow
