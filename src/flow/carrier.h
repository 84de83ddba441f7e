// One workflow run being carried: what its journal says is next is written, then done, until its end is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "flow/block_work.h"

namespace sluice::flow {

class Carrier final : private BlockListener {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // There is more to read of the run.
    virtual void on_news(const Carrier& carrier) = 0;
    // Each of these may drop the carrier.
    virtual void on_over(Carrier& carrier) = 0;
    virtual void on_left(Carrier& carrier) = 0;                    // the next server continues it
    virtual void on_lost(Carrier& carrier, const Error& why) = 0;  // what is written of it is not known
  };

  Carrier(const FlowNeeds& needs, const FlowOptions& options, Owner& owner, model::WorkflowRun run, Plan plan);

  // Its journal so far, up to run().head. `corrupt` when that makes no sense.
  Result<Unit> remember(const std::vector<std::string>& bodies);
  void go_on();

  const model::WorkflowRun& run() const { return run_; }
  // Calls back when the run is over, or by give_up().
  void cancel(Callback<void(RunOutcome)> done);
  // Dropped before the run is over: callers that wait for its end get an error.
  void give_up();
  void drain();
  // A block of its own making is at work: what is dropped would have to be done again.
  bool is_at_work() const { return work_ != nullptr && !plan_.definition.blocks[current_].has_run(); }

 private:
  void on_block_run() override { owner_.on_news(*this); }
  void on_block_ended(model::BlockOutputs outputs, std::optional<model::WorkflowError> error) override;
  void on_block_left() override { owner_.on_left(*this); }

  void begin(std::size_t block);
  void carry(const CarryBlock& block);
  void add(decltype(model::WorkflowEvent::what) what);
  void add_end_of(std::size_t block, model::BlockOutputs outputs, std::optional<model::WorkflowError> error);
  void write();
  void on_written(const Result<model::WorkflowRun>& written);
  void end_cancelled();

  const FlowNeeds& needs_;
  const FlowOptions& options_;
  Owner& owner_;
  model::WorkflowRun run_;
  const Plan plan_;
  Progress progress_;
  std::vector<std::string> bodies_;  // not written yet
  std::size_t current_ = 0;          // the block that work_ is for
  std::optional<std::size_t> begun_here_;
  std::unique_ptr<BlockWork> work_;
  std::vector<Callback<void(RunOutcome)>> cancelling_;
  bool is_writing_ = false;
  bool draining_ = false;
  world::Timer again_;
  Lifetime lifetime_;
};

}  // namespace sluice::flow
