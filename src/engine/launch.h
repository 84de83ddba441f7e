// All that is needed to hand a run to whoever works on it, kept while it waits for its slot.
#pragma once

#include <string>

#include "dispatch/dispatch.h"
#include "engine/queue_board.h"
#include "store/store.h"

namespace sluice::engine {

struct Launch {
  dispatch::Dispatch work;
  store::MaterialNames names;  // of what is still to be found for it
  model::Runtime runtime;      // of its conversation
  Place told_place;            // in the queue, before a restart; position 0: none
  std::string started_body;    // of the `started` event, if that is still to be written
};

}  // namespace sluice::engine
