// The engine behind its door: the runs that are live, how one comes to be (run_accept.cc) and to be
// worked on (run_start.cc), and how the store is taken up again after it fell silent.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/admission.h"
#include "engine/engine.h"
#include "engine/journal_reading.h"
#include "engine/live_run.h"

namespace sluice::engine {

class Recovery;

class RunEngine final : public Engine, private LiveRun::Owner, private LiveRuns, private Admission::Host {
 public:
  RunEngine(EngineNeeds needs, EngineOptions options);
  ~RunEngine() override;

  void recover(Callback<void(Result<Unit>)> done) override;
  void send(Send send, Callback<void(SendOutcome)> done) override;
  std::unique_ptr<Reading> read(const model::Run& run, const wire::View& view, Reader& reader) override;
  std::unique_ptr<Waiting> wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) override;
  void cancel(model::TenantId tenant, model::RunId run,
              Callback<void(std::variant<model::Run, model::Problem>)> done) override;
  void decide(Decision decision, Callback<void(DecideOutcome)> done) override;
  std::optional<model::RunId> run_of(model::ConversationId conversation) const override {
    return admission_.run_of(conversation);
  }
  Capacity capacity() const override { return admission_.capacity(); }
  model::SandboxNow sandbox_of(model::ConversationId conversation) const override;
  std::optional<model::Problem> refusal_of_sticky(model::TenantId tenant,
                                                  const model::TenantLimits& limits) const override;
  void conversation_changed(const model::Conversation& conversation) override;
  void secrets_changed(model::TenantId tenant) override;
  void store_fell_silent(const Error& why) override;
  void drain(Millis deadline, Callback<void()> done) override;

 private:
  friend class Recovery;
  class EndWaiting;
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& live;
    world::Counter& accepted;
    world::Counter& completed;
    world::Counter& failed;
    world::Counter& cancelled;
    world::Counter& recovered;
    world::Histogram& duration;
    world::Counter& violations;
  };

  void on_dirty(model::RunId run) override;
  void on_going(LiveRun& run) override;
  void on_parked(LiveRun& run, bool keeps_box) override;
  void on_notice() override;
  void on_over(LiveRun& run) override;
  void on_lost(LiveRun& run, const Error& why) override;
  LiveRun* find(model::RunId run) override;
  bool is_left_to_next_server(model::RunId run) const override;

  void on_turn(model::RunId run) override;
  bool on_moved_up(model::RunId run, Place place) override;
  void on_held_too_long(model::RunId run) override;

  void accept(std::shared_ptr<Send> send, Callback<void(SendOutcome)> done);
  store::NewRun fresh_run(const Send& send, model::RunId run, std::optional<Place> held);
  SendOutcome on_accepted(const Send& send, model::Message message, store::AcceptOutcome outcome);
  SendOutcome take_in(const Send& send, model::Message message, store::Accepted accepted);
  model::Problem no_room(bool would_wait) const;
  LiveRun& enter(const model::Run& run, model::Message message, std::string request_id);

  // It has a slot: hands it over with what was kept for that, or with what its journal says.
  void begin_work(LiveRun& live);
  void read_on(model::RunId run);
  void launch(LiveRun& live, Launch launch);
  // Finds what the run names, its secrets, and the history if the agent looks at it; then dispatches.
  void start_work(model::RunId run, harness::Dispatch work, const store::MaterialNames& names);
  void find_secrets(model::RunId run, harness::Dispatch work);
  void read_history(model::RunId run, harness::Dispatch work);
  // Write, then do: from a checkpoint only once it is written that nobody may go on from it again.
  void dispatch(model::RunId run, harness::Dispatch work);
  void hand_over(model::RunId run, harness::Dispatch work);
  void read_secrets(const LiveRun& live, store::Done<std::vector<model::SealedSecret>> done);
  void give_secrets(LiveRun& live, const std::vector<model::SealedSecret>& sealed);
  void refresh_secrets(model::RunId run, Callback<void()> then);
  void flush_dirty();

  // A run is no longer at work, for whatever reason.
  void note_left();
  void drop_all(const Error& why);
  void let_go(LiveRun& run);
  void end_drain();
  void join_waiters(LiveRun& live, std::weak_ptr<Callback<void(Result<wire::Ending>)>> waiter);
  using Cancelled = Callback<void(std::variant<model::Run, model::Problem>)>;
  void cancel_found(model::Run run, Cancelled done, int looks_left);
  void reopen_later();
  void reopen_store();
  void run_recovery();

  template <typename F>
  auto while_alive(F then);

  EngineNeeds needs_;
  EngineOptions options_;
  Figures figures_;
  LiveRun::Figures run_figures_;
  Admission admission_;
  std::unordered_map<model::RunId, std::unique_ptr<LiveRun>> live_;
  std::vector<model::RunId> dirty_;
  std::unique_ptr<Recovery> recovery_;
  Callback<void(Result<Unit>)> recovered_;  // whoever asked for the first one
  bool store_silent_ = false;
  int reopen_tries_ = 0;  // since the last recovery that worked
  world::Timer reopen_timer_;

  bool draining_ = false;
  bool closed_ = false;  // draining is over: nothing begins any more
  Callback<void()> drained_;
  world::Timer drain_timer_;

  std::shared_ptr<RunEngine*> self_;
};

// Calls `then` unless the engine has gone by then: the store's answers outlive whoever asked.
template <typename F>
auto RunEngine::while_alive(F then) {
  return [self = self_, then = std::move(then)](auto&&... args) mutable {
    if (*self != nullptr) then(std::forward<decltype(args)>(args)...);
  };
}

}  // namespace sluice::engine
