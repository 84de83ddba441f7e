// Those who asked for a run to be cancelled, and how long each of the things they wait for may take: the disk, and the
// proof that nobody works on the run any more. Whoever has waited too long is told so, and may ask again; the run is
// cancelled all the same.
#pragma once

#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"
#include "world/world.h"

namespace sluice::engine {

class Cancelling final {
 public:
  // The run, once it is over; `overloaded`, in words for the caller, when that takes too long; or why it is not carried
  // here any more.
  using Asker = Callback<void(Result<model::Run>)>;

  Cancelling(world::Loop& loop, model::RunId run) : loop_(loop), run_(run) {}

  // `stop` is called when the disk does not take it: what works on the run need not go on for that.
  void add(Asker asker, Callback<void()> stop);
  // It has been asked for, now or earlier.
  bool is_wanted() const { return wanted_; }
  // The wish is on disk.
  void note_written() { written_ = true; }
  bool is_written() const { return written_; }
  // All who wait.
  void answer(const Result<model::Run>& outcome);

 private:
  void give_up_writing();
  void give_up();

  world::Loop& loop_;
  const model::RunId run_;
  bool wanted_ = false;
  bool written_ = false;
  std::vector<Asker> askers_;
  world::Timer clock_;  // of the one who waits longest
};

}  // namespace sluice::engine
