// What is kept on this server for runs that are not live here: of runs that a server before this one had, or that were
// let go of, be it for a gate that was never written. No other server knows of it, and only the store says that such a
// run is over, whichever node carried it to its end; then what is kept goes.
//
// Called from the loop's thread.
#pragma once

#include <deque>

#include "base/lifetime.h"
#include "engine/live_runs.h"

namespace sluice::engine {

class Leftovers final {
 public:
  struct Needs {
    dispatch::Dispatcher& dispatcher;
    store::Store& store;
    world::Loop& loop;
    const LiveRuns& live;
    bool is_alone;  // no other node can end a run
  };
  explicit Leftovers(Needs needs) : needs_(needs) {}

  // Looks what a server before this one has left.
  void find();
  void watch(dispatch::ParkedRun kept);

 private:
  void look_later();
  void look();
  void judge(const dispatch::ParkedRun& kept, const Result<journal::JournalPage>& page);

  Needs needs_;
  std::deque<dispatch::ParkedRun> kept_;
  bool looks_later_ = false;
  world::Timer timer_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
