// Callers that wait for the end of a run without reading it, whichever node carries the run.
//
// Called from the loop's thread. A run that is live here keeps its own waiters (LiveRun::wait_for_end) and answers
// them; for any other run the end is read from the store, and looked for again when another node writes.
#pragma once

#include <memory>

#include "base/lifetime.h"
#include "engine/draining.h"
#include "engine/live_runs.h"
#include "engine/remote_runs.h"

namespace sluice::engine {

class EndWaiters final {
 public:
  struct Needs {
    const LiveRuns& live;
    RemoteRuns& remote;
    Draining& draining;
    store::Store& store;
    world::Loop& loop;
  };
  explicit EndWaiters(Needs needs) : needs_(needs) {}

  std::unique_ptr<Waiting> wait(const model::Run& run, Callback<void(Result<wire::Ending>)> done);
  // The run is not live here any more: its waiters wait for what another node makes of it.
  void look_for_end(const Ref<EndWaiter>& waiter);

 private:
  void on_run(EndWaiter& waiter, const Result<model::Run>& found);
  void read_end(const model::Run& run, EndWaiter& waiter);
  // Looks again when there is news; or answers with this error, where none is to be had.
  void look_again_later(EndWaiter& waiter, Error why);
  void join(LiveRun& live, EndWaiter& waiter);

  Needs needs_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
