// The cancel of a run, from the first request to the proof that nothing works on the run any more: the wish is written,
// the work is stopped, and the run ends. A caller that has waited too long for one of these is answered so, and may ask
// again; the run is cancelled all the same.
//
// Called from the loop's thread.
#pragma once

#include <utility>
#include <vector>

#include "engine/run_progress.h"
#include "engine/run_work.h"

namespace sluice::engine {

class Cancelling final {
 public:
  // The run, once it is over; `overloaded`, in words for the caller, when that takes too long; or why it is not carried
  // here any more.
  using Asker = Callback<void(Result<model::Run>)>;

  Cancelling(world::Loop& loop, RunProgress& progress, RunWork& work) : loop_(loop), progress_(progress), work_(work) {}

  void add(Asker asker);
  // The run was asked to be cancelled, now or earlier.
  bool is_wanted() const { return stage_ != Stage::none; }
  // Takes the run's step towards its end. A run on which nothing works ends with it.
  void begin();
  // The wish is on disk: stops the work.
  void interrupt();
  // Answers all callers.
  void answer(const Result<model::Run>& outcome);

 private:
  enum class Stage : uint8_t { none, wanted, written };

  void stop_work();
  void end_after_work();
  void end();
  void give_up_writing();
  void give_up();

  world::Loop& loop_;
  RunProgress& progress_;
  RunWork& work_;
  std::vector<Asker> askers_;
  world::Timer clock_;  // of the caller that waits longest
  Stage stage_ = Stage::none;
};

}  // namespace sluice::engine
