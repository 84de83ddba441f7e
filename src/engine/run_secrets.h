// The secrets of live runs: read from the store sealed, opened here, and kept up to date while a run is worked on.
//
// Called from the loop's thread; values are searched for on the workers, by vault::Scrubbers. Which request may bear a
// secret is for the egress proxy and the gates to decide.
#pragma once

#include <memory>
#include <vector>

#include "dispatch/dispatch.h"
#include "engine/live_runs.h"
#include "vault/vault.h"

namespace sluice::engine {

class RunSecrets final {
 public:
  struct Needs {
    const LiveRuns& live;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
    const vault::Sealer& sealer;
    world::SharedWorkers* workers;  // null: values are searched for on the loop
  };
  explicit RunSecrets(Needs needs);

  void read(const LiveRun& live, store::Done<std::vector<model::SealedSecret>> done);
  // Opens them for the run, which has been given its Secrets; `then` when the run may use them.
  void open(LiveRun& live, const std::vector<model::SealedSecret>& sealed, bool stands_still,
            Callback<void(LiveRun&)> then);
  // Before work that waited continues: `then`, whether or not they could be read.
  void refresh(LiveRun& live, Callback<void()> then);
  // The tenant's secrets changed, by this node or by another.
  void refresh_all(model::TenantId tenant);

 private:
  Needs needs_;
  vault::Scrubbers scrubbers_;
};

}  // namespace sluice::engine
