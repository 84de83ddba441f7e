// One caller that waits for the end of a run. Dropping it stops waiting.
//
// Called from the loop's thread. Where the end comes from is for LiveRun and EndWaiters to know.
#pragma once

#include <memory>
#include <utility>

#include "base/lifetime.h"
#include "engine/engine.h"
#include "engine/tail.h"

namespace sluice::engine {

class EndWaiter final : public Waiting {
 public:
  EndWaiter(const model::Run& run, Callback<void(Result<wire::Ending>)> done)
      : tenant_(run.tenant_id), run_(run.id), done_(std::move(done)) {}

  model::TenantId tenant() const { return tenant_; }
  model::RunId run() const { return run_; }
  Ref<EndWaiter> ref() { return lifetime_.ref(*this); }

  // While another node carries the run.
  void follow(std::unique_ptr<Tail> tail) { tail_ = std::move(tail); }
  bool follows() const { return tail_ != nullptr; }

  // Once. The waiter may be gone when this returns.
  void answer(Result<wire::Ending> ending) {
    tail_.reset();
    if (done_) std::exchange(done_, nullptr)(std::move(ending));
  }

 private:
  const model::TenantId tenant_;
  const model::RunId run_;
  Callback<void(Result<wire::Ending>)> done_;
  std::unique_ptr<Tail> tail_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
