// The fillers of one run: they bridge its silence until the first real word, and stop while a human is asked. On the
// loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "agents/run_context.h"
#include "base/callback.h"
#include "dispatch/dispatch.h"
#include "inference/inference.h"
#include "runs/runs.h"

namespace sluice::agents {

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
