// Hands runs that have a slot to an agent: at first, after a human agreed, and after a restart. It performs the duties
// of the lifecycle that lead to work, and passes a slot that became free on to the run whose turn it is.
//
// A launch is one sequence: the conversation's home, its materials, its secrets, its history, then what must be on disk
// before the work begins, then the dispatch. Each step of it is dropped with the run, and tried again when the store
// could not answer.
//
// Called from the loop's thread. Who may have a slot is for Admission to decide, and what an agent does with the work
// for the dispatcher.
#pragma once

#include <memory>
#include <optional>

#include "engine/claims.h"
#include "engine/draining.h"
#include "engine/retries.h"
#include "engine/run_past.h"
#include "engine/run_secrets.h"
#include "engine/sticky_homes.h"
#include "engine/suspension.h"

namespace sluice::engine {

class Launcher final : public RunDuties, public Admission::Host {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // A run is no longer at work.
    virtual void note_left() = 0;
  };
  struct Needs {
    Host& host;
    const LiveRuns& live;
    Admission& admission;
    Cluster& cluster;
    Recoveries& recoveries;
    StickyHomes& homes;
    RunSecrets& secrets;
    Suspension& suspension;
    Retries& retries;
    Draining& draining;
    store::Store& store;
    dispatch::Dispatcher& dispatcher;
    MaterialSource* material_source;  // null: there are no skills, and files are not kept
    world::Loop& loop;
    world::Log& log;
  };
  explicit Launcher(Needs needs) : needs_(needs) {}

  void on_step(const model::Run& run, const Row& row) override;
  void admit(LiveRun& run) override;
  void launch(LiveRun& run) override;
  void resume(LiveRun& run) override;
  void park(LiveRun& run, bool keeps_box) override;

  void on_turn(model::RunId run) override;
  void on_turn_elsewhere(const journal::HeldRun& run) override { needs_.cluster.claims().want(run); }
  bool on_moved_up(model::RunId run, Place place) override;
  void on_held_too_long(model::RunId run) override;

 private:
  void read_past_of(LiveRun& live);
  void on_past(LiveRun& live, const Result<std::shared_ptr<RunPast>>& past);
  void launch_with(LiveRun& live, Launch launch);
  void launch_here(LiveRun& live, Launch launch);
  void keep_sandbox(LiveRun& live, dispatch::Dispatch& work, int64_t ttl_seconds);
  // What the run names, its secrets, and the history if the agent looks at it; then it is dispatched.
  void find_materials(LiveRun& live, dispatch::Dispatch work, const store::MaterialNames& names);
  void find_secrets(LiveRun& live, dispatch::Dispatch work);
  void read_history(LiveRun& live, dispatch::Dispatch work);
  static void give_history(dispatch::Dispatch& work, std::vector<store::Turn> turns, int64_t count_max);
  // Write, then act: from a checkpoint only once it is written that it cannot be used again.
  void dispatch(LiveRun& live, dispatch::Dispatch work);
  void hand_over(LiveRun& live, dispatch::Dispatch work);
  void try_again(LiveRun& live, Callback<void(LiveRun&)> step);

  Needs needs_;
};

}  // namespace sluice::engine
