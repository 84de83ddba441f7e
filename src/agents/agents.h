// What the native loop and agent programs share: everything one run works with, its fillers, and the form in which a
// run that waits for a human is kept. Used on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/json.h"
#include "base/result.h"
#include "dispatch/dispatch.h"
#include "inference/inference.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/tools.h"
#include "world/world.h"

namespace sluice::agents {

// Reads members that must be there. The first that is missing or wrong is the fault of the whole checkpoint.
class CheckpointReader {
 public:
  json::Value member(json::Value from, std::string_view name, json::Kind kind);
  std::string text(json::Value from, std::string_view name);
  int64_t number(json::Value from, std::string_view name);
  bool flag(json::Value from, std::string_view name);
  std::vector<std::string> names(json::Value from, std::string_view name);
  sessions::SessionState session(json::Value from);  // its member "hands"

  void blame(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  // `corrupt`, in words, once anything was blamed.
  Result<Unit> verdict() const;

 private:
  std::string fault_;
};

void write_names(json::Writer& writer, const std::vector<std::string>& names);
// The value of the member "hands".
void write_session(json::Writer& writer, const sessions::SessionState& state);

// What all runs of a server share. Runs share its ownership, because any of them may outlive the dispatcher.
struct Shared {
  inference::Context inference;
  sessions::Host sessions;
  tools::Context tools;
  world::Entropy& entropy;
  world::Log& log;
};

// What all runs of a server share, with a clock and a client of the run's own, which stand still while it is suspended.
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

// Fillers bridge the silence of a run until its first real word, and stop while a human is asked.
class RunFiller final : private inference::FillerListener {
 public:
  // All must outlive this. `trouble`: the small model could not be asked, and why. `output` may drop this.
  RunFiller(const RunContext& context, const dispatch::Dispatch& dispatch, runs::EventOutput& output,
            Callback<void(std::string)> trouble)
      : context_(context), dispatch_(dispatch), output_(output), trouble_(std::move(trouble)) {}

  // Nothing after real words, or where the client wants none.
  void begin();
  // What is emitted next is no filler: a phrase that has begun is closed.
  void end();
  // The run is over.
  void stop() { filler_.reset(); }

  void note_words() { has_words_ = true; }
  bool has_words() const { return has_words_; }
  int64_t count() const { return count_; }
  // From a checkpoint.
  void restore(bool has_words, int64_t count) {
    has_words_ = has_words;
    count_ = count;
  }

 private:
  void on_filler(std::string text) override { output_.speak(model::EventKind::filler, std::move(text)); }
  void on_filler_trouble(std::string what) override { trouble_(std::move(what)); }

  const RunContext& context_;
  const dispatch::Dispatch& dispatch_;
  runs::EventOutput& output_;
  Callback<void(std::string)> trouble_;
  bool has_words_ = false;  // real ones: no more filler
  int64_t count_ = 0;
  std::unique_ptr<inference::Filler> filler_;
};

}  // namespace sluice::agents
