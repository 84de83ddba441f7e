// The engine behind its door: the runs that are live, how one comes to be (run_accept.cc) and to be
// worked on (run_start.cc), how the store is taken up again after it fell silent, and what it has to do with other
// engines on the same store (run_nodes.cc, run_mail.cc).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/admission.h"
#include "engine/claims.h"
#include "engine/engine.h"
#include "engine/journal_reading.h"
#include "engine/kept_workspaces.h"
#include "engine/live_run.h"
#include "engine/peers.h"
#include "engine/postbox.h"
#include "engine/store_clock.h"
#include "engine/store_watch.h"
#include "engine/suspension.h"
#include "engine/unattended.h"

namespace sluice::engine {

class Recovery;

class RunEngine final : public Engine,
                        private LiveRun::Owner,
                        private LiveRuns,
                        private Admission::Host,
                        private Claims::Host,
                        private Peers::Host,
                        private Postbox::Host,
                        private UnattendedRuns::Host,
                        private StoreWatch::Host {
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
  void run_of(model::TenantId tenant, model::ConversationId conversation,
              Callback<void(Result<std::optional<model::RunId>>)> done) override;
  Capacity capacity() const override;
  model::SandboxNow sandbox_of(model::ConversationId conversation) const override;
  std::optional<model::Problem> refusal_of_sticky(model::TenantId tenant,
                                                  const model::TenantLimits& limits) const override;
  void conversation_changed(const model::Conversation& conversation) override;
  void secrets_changed(model::TenantId tenant) override;
  void store_fell_silent(const Error& why) override;
  bool reaches_store() override;
  std::vector<store::SeenNode> nodes() const override;
  bool is_gone(model::NodeId node) const override;
  void ask_node(model::NodeId node, std::string kind, std::string body,
                Callback<void(Result<std::string>)> done) override;
  void answer_nodes(std::string kind, NodeAnswerer answerer) override;
  void drain(Millis deadline, Callback<void()> done) override;

 private:
  friend class Recovery;
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& live;
    world::Counter& accepted;
    world::Counter& completed;
    world::Counter& failed;
    world::Counter& cancelled;
    world::Counter& recovered;
    world::Counter& taken_over;
    world::Histogram& duration;
    world::Counter& violations;
  };

  void on_dirty(model::RunId run) override;
  void on_step(const model::Run& run, const Row& row) override;
  void admit(LiveRun& run) override;
  void launch(LiveRun& run) override;
  void resume(LiveRun& run) override;
  void on_parked(LiveRun& run, bool keeps_box) override;
  void on_notice() override;
  void on_over(LiveRun& run) override;
  void on_unsure(LiveRun& run, const Error& why) override;
  void on_sure() override;
  void on_lost(LiveRun& run, const Error& why) override;
  LiveRun* find(model::RunId run) override;
  bool is_left_to_next_server(model::RunId run) const override;
  std::unique_ptr<Tail> follow(model::RunId run, Callback<void()> look) override;
  void suspect(model::RunId run) override;

  void on_turn(model::RunId run) override;
  void on_turn_elsewhere(const store::HeldRun& run) override { claims_.want(run); }
  bool on_moved_up(model::RunId run, Place place) override;
  void on_held_too_long(model::RunId run) override;

  store::NodeFigures own_figures() const override;
  void on_beat() override;
  void on_beat_failed(const Error& why) override;
  void on_cut_off() override;
  void on_back() override;
  void on_orphans() override;
  void on_run_moved(model::RunId run) override;
  void on_post() override { postbox_.look(); }
  void on_held_elsewhere() override { claims_.look_if_free(); }
  void on_unsure_of_runs() override;

  bool may_look() const override;
  bool attends(model::RunId run) const override { return live_.contains(run) || admission_.knows(run); }
  void take_up_unattended() override;

  void on_store_broken() override;
  void on_store_reopened() override;

  void on_mail(const store::Mail& mail, Reply reply) override;
  void cancel_by_mail(const store::Mail& mail, Reply reply);
  void decide_by_mail(const store::Mail& mail, Reply reply);
  void take_by_mail(const store::Mail& mail, Reply reply);
  void hear_of_change(const store::Mail& mail, Reply reply);
  void tell_others(std::string_view kind, const std::string& body);  // all that live
  // What changed by this node's doing or another's.
  void apply_change(const model::Conversation& conversation);
  void renew_secrets(model::TenantId tenant);

  bool may_claim() const override;
  void on_claimed(const model::Run& run, bool is_late) override;
  void on_claim_failed(const Error& why) override;
  void check_held();                                   // runs that are held may have been claimed without a word
  void lose_to_other(LiveRun& run, const Error& why);  // another node writes it
  // A sticky conversation's box is where its last run was: if that is another node, it is asked to take the run.
  void find_home(LiveRun& live, Launch launch);
  void ask_home(LiveRun& live, model::NodeId home, Launch launch);
  void stay_here(LiveRun& live, Launch launch);  // no node took it, and none can any more

  void accept(std::shared_ptr<Send> send, Callback<void(SendOutcome)> done);
  store::NewRun fresh_run(const Send& send, model::RunId run, const Row& first, std::optional<Place> held);
  SendOutcome on_accepted(const Send& send, model::Message message, Duty duty, store::AcceptOutcome outcome);
  SendOutcome take_in(const Send& send, model::Message message, Duty duty, store::Accepted accepted);
  SendOutcome accepted_in_former_life(const model::Run& run);
  model::Problem no_room(bool would_wait) const;
  LiveRun& enter(const model::Run& run, model::Message message, std::string request_id);

  // What it needs could not be read, and that may pass: `then(live)` after a while, unless it is not to be begun any
  // more.
  void try_again(LiveRun& live, Callback<void(LiveRun&)> then);
  void read_on(LiveRun& live);
  void launch_with(LiveRun& live, Launch launch);
  void launch_here(LiveRun& live, Launch launch);
  // Finds what the run names, its secrets, and the history if the agent looks at it; then dispatches.
  void start_work(LiveRun& live, harness::Dispatch work, const store::MaterialNames& names);
  void find_secrets(LiveRun& live, harness::Dispatch work);
  void read_history(LiveRun& live, harness::Dispatch work);
  // Write, then do: from a checkpoint only once it is written that nobody may go on from it again.
  void dispatch(LiveRun& live, harness::Dispatch work);
  void hand_over(LiveRun& live, harness::Dispatch work);
  void read_secrets(const LiveRun& live, store::Done<std::vector<model::SealedSecret>> done);
  void give_secrets(LiveRun& live, const std::vector<model::SealedSecret>& sealed, bool stands_still,
                    Callback<void(LiveRun&)> then);
  void refresh_secrets(LiveRun& live, Callback<void()> then);
  void flush_dirty();

  // A run is no longer at work, for whatever reason.
  void note_left();
  void drop_all(const Error& why);
  void end_recovery();    // what is being taken up is looked for anew when the store answers again
  void find_leftovers();  // what is kept here for runs that are carried elsewhere goes when they end
  void watch_leftover(harness::ParkedRun kept);
  void look_later();
  void forget_ended();
  void judge_leftover(const harness::ParkedRun& kept, const Result<store::JournalPage>& page);
  void let_go(LiveRun& run);
  void end_drain();
  void join_waiters(LiveRun& live, std::weak_ptr<EndWaiter> waiter);
  void look_for_end(const std::weak_ptr<EndWaiter>& waiter);
  void read_end(const model::Run& run, std::weak_ptr<EndWaiter> waiter);
  // Asks again when there is news; or tells it, where there is none to be had.
  void wait_on(const std::shared_ptr<EndWaiter>& waiter, Error why);
  using Cancelled = Callback<void(std::variant<model::Run, model::Problem>)>;
  void cancel_found(model::Run run, Cancelled done, int looks_left);
  void cancel_elsewhere(const model::Run& run, Cancelled done);
  void decide_late(Decision decision, Callback<void(DecideOutcome)> done);
  void decide_elsewhere(model::RunId run, const Decision& decision, Callback<void(DecideOutcome)> done);
  void lose_patience(const Error& why);
  bool answers() const;  // one that can be read but not written does not
  void run_recovery();
  template <typename F>
  auto while_alive(F then);
  template <typename F>
  static auto while_carried(const LiveRun& live, F then);

  EngineNeeds needs_;
  const Timestamp started_at_ = needs_.loop.now();
  EngineOptions options_;
  vault::Scrubbers scrubbers_{needs_.loop, needs_.workers};
  Figures figures_;
  LiveRun::Figures run_figures_;
  Admission admission_;
  Claims claims_;
  StoreClock store_clock_;
  Peers peers_;
  Postbox postbox_;
  std::unordered_map<std::string, NodeAnswerer> answerers_;  // of mail that is not the engine's own
  Tails tails_;
  KeptWorkspaces kept_workspaces_;
  std::unordered_map<model::RunId, std::unique_ptr<LiveRun>> live_;
  std::vector<model::RunId> dirty_;
  std::unique_ptr<Recovery> recovery_;
  Callback<void(Result<Unit>)> recovered_;  // whoever asked for the first one
  bool store_silent_ = false;
  StoreWatch store_watch_;
  Suspension suspension_;
  world::Timer cut_off_timer_, patience_timer_;  // then runs that wait for a silent store are dropped
  bool patient_ = false;
  UnattendedRuns unattended_;
  std::deque<harness::ParkedRun> leftovers_;  // of runs that were let go of here, and not seen to end since
  bool looks_later_ = false, probing_ = false;
  world::Timer look_timer_;
  uint64_t life_ = 0;                                             // grows whenever runs are looked for anew
  std::unordered_map<model::RunId, world::Timer> begin_retries_;  // of those who are to begin
  int64_t checked_us_ = 0, probed_us_ = 0;  // when those who are held, and the store, were last looked at
  bool draining_ = false, closed_ = false;  // closed_: draining is over, nothing begins any more
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

// Calls `then` with the run unless it has gone from this server by then. One that went and came back is not the one
// that asked: whatever it needed it has asked for again.
template <typename F>
auto RunEngine::while_carried(const LiveRun& live, F then) {
  return [self = live.self(), then = std::move(then)](auto&&... args) mutable {
    if (*self != nullptr) then(**self, std::forward<decltype(args)>(args)...);
  };
}

}  // namespace sluice::engine
