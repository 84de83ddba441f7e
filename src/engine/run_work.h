// Work on one run: what is needed to begin it while the run waits for a slot, and the agent's work with its secrets
// from the dispatch until it has stopped.
//
// Called from the loop's thread. Who may begin is for Admission to decide, and how for Launcher.
#pragma once

#include <memory>
#include <vector>

#include "base/lifetime.h"
#include "base/task.h"
#include "engine/launch.h"

namespace sluice::engine {

class RunWork final {
 public:
  // `lifetime` is that of the run.
  explicit RunWork(const Lifetime& lifetime) : lifetime_(lifetime) {}

  void keep_launch(Launch launch) { launch_ = std::make_unique<Launch>(std::move(launch)); }
  Launch* launch() const { return launch_.get(); }
  std::unique_ptr<Launch> take_launch() { return std::move(launch_); }
  // Ends with the run, and when the run does not stream any more.
  Sequence& launching() { return launching_; }

  void use_secrets(std::shared_ptr<vault::Secrets> secrets) { secrets_ = std::move(secrets); }
  const std::shared_ptr<vault::Secrets>& secrets() const { return secrets_; }

  void begin(std::unique_ptr<dispatch::Work> work);
  // The agent works, or waits in its sandbox, or is being stopped.
  bool is_active() const { return phase_ == Phase::working || phase_ == Phase::stopping; }
  void suspend(bool is_suspended);
  // More is unwritten than the run may have in memory, or no more than that.
  void hold_back(bool is_full);
  // These events are on disk.
  void acknowledge(const std::vector<model::RunEvent>& written);
  // The agent raised a gate: it waits in its sandbox, or reports nothing more.
  void pause_at_gate(bool keeps_sandbox);
  // What the client's tools answered, for the agent that waits for it.
  void keep_results(std::vector<model::ClientResult> results) { results_ = std::move(results); }
  void resume();
  // Calls `stopped` when it is proven that nothing of the work is left. Once; later calls change nothing.
  void stop(Callback<void()> stopped);
  // Ends the work at once, and proves nothing.
  void drop();
  void forget_secrets() { secrets_.reset(); }

 private:
  // `none` has no Work, and the others have one. A silent Work is one that ended with its last report: it is only kept
  // until its mark in the journal is acknowledged.
  enum class Phase : uint8_t { none, working, stopping, silent };

  const Lifetime& lifetime_;
  std::unique_ptr<Launch> launch_;
  std::shared_ptr<vault::Secrets> secrets_;
  std::unique_ptr<dispatch::Work> work_;
  std::vector<model::ClientResult> results_;
  Phase phase_ = Phase::none;
  bool is_held_back_ = false;  // only while the work is active
  Sequence launching_;
};

}  // namespace sluice::engine
