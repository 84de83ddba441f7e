// Gives runs that have a slot to an agent: at first, after a human agreed, and after a restart. It performs the duties
// of the lifecycle that lead to work, and passes a slot that became free on to the run whose turn it is.
//
// A launch is one sequence, which the run owns: what its journal says, where that is not in memory; the conversation's
// home; materials, secrets and history; what must be on disk before the work begins; then the dispatch. A message that
// was accepted just now has brought its records along, so that its launch waits for nothing. Whatever the sequence had
// to wait for, the node makes sure that the run is still its own before it dispatches.
//
// Called from the loop's thread. Who may have a slot is for Admission to decide, and what an agent does with the work
// for the dispatcher.
#pragma once

#include <optional>
#include <variant>

#include "base/task.h"
#include "engine/claims.h"
#include "engine/draining.h"
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
    virtual void lose_to_other(LiveRun& run, const Error& why) = 0;
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
  struct TakenByOther {};
  using Prepared = std::variant<dispatch::Dispatch, model::Problem, TakenByOther>;

  Task<Prepared> prepare(LiveRun& live);
  void on_prepared(LiveRun& live, Prepared prepared);
  Task<std::variant<Launch, model::Problem>> find_launch(LiveRun& live);
  dispatch::Dispatch begin_work(LiveRun& live, Launch& launch);
  void keep_sandbox(LiveRun& live, dispatch::Dispatch& work, int64_t ttl_seconds);
  Task<std::optional<model::Problem>> find_records(LiveRun& live, Launch& launch, dispatch::Dispatch& work);
  void give_history(dispatch::Dispatch& work, std::vector<store::Turn> turns);
  Task<> write_first(LiveRun& live, const dispatch::Dispatch& work);
  Task<> make_sure_of(LiveRun& live);

  Needs needs_;
};

}  // namespace sluice::engine
