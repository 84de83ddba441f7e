// The engine behind its interface: it makes the parts, passes each what it needs, and keeps what concerns all live runs
// at once: how one enters and leaves, and what becomes of them when they are dropped, recovered or let go.
//
// Called from the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/acceptance.h"
#include "engine/following.h"
#include "engine/kept_workspaces.h"
#include "engine/launcher.h"
#include "engine/leftovers.h"
#include "engine/recoveries.h"
#include "engine/run_requests.h"

namespace sluice::engine {

class RunEngine final : public Engine,
                        private RunOwner,
                        private Acceptance::Host,
                        private Cluster::Host,
                        private Launcher::Host,
                        private Recovery::Host,
                        private StickyHomes::Host,
                        private StoreOutage::Host {
 public:
  RunEngine(EngineNeeds needs, EngineOptions options);
  ~RunEngine() override;

  void recover(Callback<void(Result<Unit>)> done) override;
  void send(Send send, Callback<void(SendOutcome)> done) override;
  std::unique_ptr<Reading> read(const model::Run& run, const wire::View& view, Reader& reader) override;
  std::unique_ptr<Waiting> wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) override;
  void cancel(model::TenantId tenant, model::RunId run, RunRequests::Cancelled done) override;
  void decide(Decision decision, RunRequests::Decided done) override;
  void run_of(model::TenantId tenant, model::ConversationId conversation,
              Callback<void(Result<std::optional<model::RunId>>)> done) override;
  bool attends(model::RunId run) const override;
  Capacity capacity() const override { return cluster_.capacity(); }
  model::SandboxNow sandbox_of(model::ConversationId conversation) const override;
  std::optional<model::Problem> refusal_of_sticky(model::TenantId tenant,
                                                  const model::TenantLimits& limits) const override;
  void conversation_changed(const model::Conversation& conversation) override;
  void secrets_changed(model::TenantId tenant) override;
  void store_fell_silent(const Error& why) override { outage_.begin(why); }
  bool reaches_store() override { return cluster_.reaches_store(); }
  std::vector<journal::SeenNode> nodes() const override { return cluster_.nodes(); }
  bool is_gone(model::NodeId node) const override;
  void ask_node(model::NodeId node, std::string kind, std::string body,
                Callback<void(Result<std::string>)> done) override;
  void answer_nodes(std::string kind, NodeAnswerer answerer) override;
  void drain(Millis deadline, Callback<void()> done) override;

 private:
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Counter &completed, &failed, &cancelled;
    world::Histogram& duration;
    world::Counter& violations;
  };

  void on_dirty(model::RunId run) override { live_.flush_later(run); }
  void on_notice() override;
  void on_over(LiveRun& run) override;
  void on_unsure(LiveRun& run, const Error& why) override;
  void on_sure() override { outage_.on_answer(); }
  void on_lost(LiveRun& run, const Error& why) override;

  std::optional<model::Problem> refusal_now() const override;
  LiveRun& enter(const model::Run& run, model::Message message, std::string request_id) override;
  void lose_to_other(LiveRun& run, const Error& why) override;
  void note_left() override;
  void run_recovery() override { recoveries_.run(); }
  void end_recovery() override;
  void drop_all(const Error& why) override;

  void drop_runs(const Error& why);
  void end_drain();
  // What changed by this node's doing or another's.
  void apply_change(const model::Conversation& conversation);
  void on_change_elsewhere(const journal::Mail& mail, Postbox::Reply reply);

  EngineNeeds needs_;
  EngineOptions options_;
  Figures figures_;
  RunFigures run_figures_;
  Recovery::Figures recovery_figures_;
  StoreClock store_clock_;
  const RunNeeds run_needs_;
  LiveRuns live_;
  Launcher launcher_;
  Admission admission_;
  Draining draining_;
  Postbox postbox_;
  Suspension suspension_;
  StoreOutage outage_;
  Cluster cluster_;
  Recoveries recoveries_;
  RunSecrets secrets_;
  Retries retries_;
  StickyHomes homes_;
  Acceptance acceptance_;
  EndWaiters end_waiters_;
  RunRequests requests_;
  Leftovers leftovers_;
  KeptWorkspaces kept_workspaces_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
