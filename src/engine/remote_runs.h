// What readers and waiters need of runs that other nodes may carry.
#pragma once

#include <memory>

#include "engine/tail.h"

namespace sluice::engine {

class RemoteRuns {
 public:
  virtual ~RemoteRuns() = default;
  // Calls `look` when another node may have written to the run; null where there is no other node.
  virtual std::unique_ptr<Tail> follow(model::RunId run, Callback<void()> look) = 0;
  // Another node may be writing the run that is live here: the store is asked whether it is.
  virtual void suspect(model::RunId run) = 0;
};

}  // namespace sluice::engine
