// What the live runs of this node need of the engine around them. There is one RunNeeds for all of them, because ten
// thousand parked runs may each refer to it.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "engine/run_lifecycle.h"
#include "engine/store_clock.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::engine {

class LiveRun;

class RunOwner {
 public:
  virtual ~RunOwner() = default;
  // The run has something to write; call RunWriter::flush() at the end of this turn.
  virtual void on_dirty(model::RunId run) = 0;
  // A notice for a webhook is in the store.
  virtual void on_notice() = 0;
  // The terminal event is on disk and has been sent. The owner drops the run.
  virtual void on_over(LiveRun& run) = 0;
  // The outcome of the run's last write is unknown. It waits for RunWriter::settle() until on_sure(), which says that
  // a write got through.
  virtual void on_unsure(LiveRun& run, const Error& why) = 0;
  virtual void on_sure() = 0;
  // The run cannot be written: another server carries it, or it is damaged. The owner drops it.
  virtual void on_lost(LiveRun& run, const Error& why) = 0;
};

// The duties of the lifecycle that need more than the run itself, called by LiveRun::perform().
class RunDuties {
 public:
  virtual ~RunDuties() = default;
  // A row of the lifecycle table was taken; it is not on disk yet.
  virtual void on_step(const model::Run& run, const Row& row) = 0;
  virtual void admit(LiveRun& run) = 0;
  virtual void launch(LiveRun& run) = 0;
  virtual void resume(LiveRun& run) = 0;
  virtual void park(LiveRun& run, bool keeps_sandbox) = 0;
};

struct RunFigures {
  explicit RunFigures(world::Metrics& metrics);
  world::Histogram &first_event, &resumed;
  world::Counter &required, &approved, &denied, &expired;
};

struct RunNeeds {
  RunOwner& owner;
  RunDuties& duties;
  store::Store& store;
  world::Loop& loop;
  const StoreClock& clock;
  world::IdSource& ids;
  RunFigures& figures;
  const EngineOptions& options;
};

}  // namespace sluice::engine
