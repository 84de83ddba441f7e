// Everything that one run works with: what all runs of a server share, with a clock and a client of the run's own,
// which stand still while the run is suspended. Used on the loop's thread.
#pragma once

#include <memory>

#include "inference/inference.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/tools.h"
#include "world/world.h"

namespace sluice::agents {

// What all runs of a server share. Runs share its ownership, because any of them may outlive the dispatcher.
struct Shared {
  inference::Context inference;
  sessions::Host sessions;
  tools::Context tools;
  world::Entropy& entropy;
  world::Log& log;
};

class RunContext final {
 public:
  explicit RunContext(std::shared_ptr<const Shared> shared)
      : shared_(std::move(shared)),
        clock_(shared_->inference.loop),
        client_(shared_->inference.client),
        inference_{shared_->inference.options, shared_->inference.providers, clock_, client_},
        tools_{shared_->tools.options,      shared_->tools.limits,
               shared_->tools.sign_webhook, clock_,
               shared_->tools.wall_loop,    client_} {}
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  const inference::Context& inference() const { return inference_; }
  const sessions::Host& sessions() const { return shared_->sessions; }
  const tools::Context& tools() const { return tools_; }
  world::Loop& loop() { return clock_; }
  int64_t now_us() const { return clock_.monotonic_us(); }
  world::Entropy& entropy() const { return shared_->entropy; }
  world::Log& log() const { return shared_->log; }

  void suspend(bool suspended) {
    clock_.stand_still(suspended);
    client_.hold(suspended);
  }
  bool is_suspended() const { return clock_.stands_still(); }

 private:
  const std::shared_ptr<const Shared> shared_;
  runs::RunClock clock_;
  runs::RunClient client_;
  const inference::Context inference_;
  const tools::Context tools_;
};

}  // namespace sluice::agents
