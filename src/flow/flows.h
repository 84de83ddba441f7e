// The implementation of flow.h: the workflow runs that this server carries, and their readers. Used on the loop's
// thread.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/lifetime.h"
#include "flow/carrier.h"
#include "flow/flow.h"
#include "flow/line_reading.h"

namespace sluice::flow {

class FlowService final : public Flows, private Carrier::Owner, private LineReading::Owner {
 public:
  FlowService(FlowNeeds needs, FlowOptions options);

  void recover(Callback<void(Result<Unit>)> done) override;
  void start(Start start, Callback<void(RunOutcome)> done) override;
  void cancel(model::TenantId tenant, model::WorkflowRunId id, Callback<void(RunOutcome)> done) override;
  std::unique_ptr<engine::Reading> read(const model::WorkflowRun& run, LineView view, engine::Reader& reader) override;
  void drain(Millis deadline, Callback<void()> done) override;

 private:
  void on_news(const Carrier& carrier) override;
  void on_over(Carrier& carrier) override;
  void on_left(Carrier& carrier) override;
  void on_lost(Carrier& carrier, const Error& why) override;
  void enter(model::WorkflowRunId run, LineReading& reading) override { readings_.emplace(run, &reading); }
  void leave(model::WorkflowRunId run, LineReading& reading) override;
  // Where servers share the store another one may carry it; then it is looked for now and then.
  bool carries(model::WorkflowRunId run) const override {
    return is_shared() || carriers_.contains(run) || coming_.contains(run);
  }

  // ── on a store that servers share (flows_nodes.cc) ──
  model::NodeId self() const { return needs_.store.nodes().self(); }
  bool is_shared() const { return self() != model::NodeId{}; }
  // Called periodically: readers of runs on other nodes look again, and runs without a carrier are taken over.
  void look_around_later();
  void look_around();
  void take_over(const model::WorkflowRun& run);
  void cancel_elsewhere(const model::WorkflowRun& run, Callback<void(RunOutcome)> done);
  void on_asked_to_cancel(std::string_view body, Callback<void(std::string)> reply);

  // Takes up a run from its journal; `done` when it is under way, or cannot be.
  void recover_later(const Error& why, Callback<void(Result<Unit>)> done);
  void take_up(model::WorkflowRun run, Callback<void(Result<Unit>)> done);
  void read_on(std::shared_ptr<model::WorkflowRun> run, std::shared_ptr<std::vector<std::string>> bodies,
               Callback<void(Result<Unit>)> done);
  Result<Unit> carry_on(const model::WorkflowRun& run, const std::vector<std::string>& bodies);
  void take_up_later(model::TenantId tenant, model::WorkflowRunId id);
  void begin(const model::WorkflowRun& run, Plan plan);
  // Drops it, but not from inside its own callback.
  void drop(Carrier& carrier);
  void let_readers_go(model::WorkflowRunId run, const Error& why);
  void note_left();

  FlowNeeds needs_;
  const FlowOptions options_;
  std::unordered_map<model::WorkflowRunId, std::unique_ptr<Carrier>> carriers_;
  std::unordered_map<model::WorkflowRunId, world::Timer> coming_;  // that will be taken up again
  std::unordered_map<model::TenantId, int64_t> at_once_;
  std::unordered_multimap<model::WorkflowRunId, LineReading*> readings_;
  std::vector<std::unique_ptr<Carrier>> dropped_;
  world::Timer look_timer_;
  bool draining_ = false;
  Callback<void()> drained_;
  world::Timer drain_timer_;
  Lifetime lifetime_;
};

}  // namespace sluice::flow
