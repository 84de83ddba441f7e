// Cancels and decisions. A run that is live here is asked; the node that carries any other run is asked by mail, and
// answers what other nodes ask of runs here.
//
// Called from the loop's thread. It decides nothing about a run: LiveRun does, and the store counts only the first of
// several decisions.
#pragma once

#include <variant>

#include "base/lifetime.h"
#include "engine/live_runs.h"
#include "engine/postbox.h"

namespace sluice::engine {

class RunRequests final {
 public:
  using Cancelled = Callback<void(std::variant<model::Run, model::Problem>)>;
  using Decided = Callback<void(DecideOutcome)>;

  struct Needs {
    const LiveRuns& live;
    Postbox& postbox;
    store::Store& store;
    bool is_alone;  // no other node can carry a run
  };
  explicit RunRequests(Needs needs);

  void cancel(model::TenantId tenant, model::RunId run, Cancelled done);
  void decide(Decision decision, Decided done);

 private:
  void cancel_found(model::Run run, Cancelled done, int looks_left);
  void cancel_live(LiveRun& live, model::TenantId tenant, Cancelled done);
  void cancel_elsewhere(const model::Run& run, Cancelled done);
  void decide_late(Decision decision, Decided done);
  void decide_elsewhere(model::RunId run, const Decision& decision, Decided done);

  void answer_cancel(const journal::Mail& mail, Postbox::Reply reply);
  void answer_decision(const journal::Mail& mail, Postbox::Reply reply);

  Needs needs_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
