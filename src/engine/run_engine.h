// The engine behind its door: the runs that are live, how one comes to be, and how the store is
// taken up again after it fell silent.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/journal_reading.h"
#include "engine/live_run.h"

namespace sluice::engine {

class Recovery;

class RunEngine final : public Engine, private LiveRun::Owner, private LiveRuns {
 public:
  RunEngine(EngineNeeds needs, EngineOptions options);
  ~RunEngine() override;

  void recover(Callback<void(Result<Unit>)> done) override;
  void send(Send send, Callback<void(SendOutcome)> done) override;
  std::unique_ptr<Reading> read(const model::Run& run, wire::Format format, int64_t after, Reader& reader) override;
  std::unique_ptr<Waiting> wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) override;
  void cancel(model::TenantId tenant, model::RunId run,
              Callback<void(std::variant<model::Run, model::Problem>)> done) override;
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
    world::Histogram& first_event;
    world::Histogram& duration;
  };

  void on_dirty(model::RunId run) override;
  void on_over(LiveRun& run) override;
  void on_lost(LiveRun& run, const Error& why) override;
  LiveRun* find(model::RunId run) override;

  void accept(std::shared_ptr<Send> send, Callback<void(SendOutcome)> done);
  SendOutcome on_accepted(const Send& send, model::Message message, store::AcceptOutcome outcome);
  LiveRun& enter(const model::Run& run, model::Message message, std::string request_id);
  // Finds what the run names, reads the history if the agent looks at it, and hands the work over.
  void start_work(model::RunId run, harness::Dispatch work, const store::MaterialNames& names);
  void read_history(model::RunId run, harness::Dispatch work);
  void dispatch(model::RunId run, harness::Dispatch work);
  void flush_dirty();

  // A run is no longer here, for whatever reason.
  void note_left();
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
  std::unordered_map<model::RunId, std::unique_ptr<LiveRun>> live_;
  std::vector<model::RunId> dirty_;
  std::unique_ptr<Recovery> recovery_;
  Callback<void(Result<Unit>)> recovered_;  // whoever asked for the first one
  bool store_silent_ = false;
  int reopen_tries_ = 0;  // since the last recovery that worked
  world::Timer reopen_timer_;

  bool draining_ = false;
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
