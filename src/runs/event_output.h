// The events of a run, in order and without the values of secrets.
//
// Words of the model (text, reasoning, filler) are streams: what may be the beginning of a value waits for
// more, but never longer than until another event comes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "model/event.h"
#include "model/model.h"
#include "runs/lifeline.h"
#include "runs/replay.h"
#include "runs/scrubbed_text.h"
#include "world/world.h"

namespace sluice::runs {

class EventOutput {
 public:
  // `loop` and `listener` must outlive this. The listener may drop this whenever it is
  // called.
  EventOutput(world::Loop& loop, SharedSecrets secrets, dispatch::DispatchListener& listener);

  // What was emitted before a restart, and is not emitted again.
  void skip(Replay replay) { replay_ = std::move(replay); }
  const Replay& replay() const { return replay_; }
  // The model did not say again what it said.
  bool has_diverged() const { return has_diverged_; }

  void speak(model::EventKind kind, std::string text);
  void emit(const model::EventData& event);
  void emit_phase(std::string_view phase, std::string_view words, int64_t duration_ms);
  // Emits what was held back: no more of its stream comes for now.
  void flush();

  // While the run waits for a human, events are kept, and go_on() emits them in their order.
  void pause() { is_paused_ = true; }
  void go_on();

  std::string scrubbed(std::string text) const { return runs::scrubbed(secrets_, std::move(text)); }

 private:
  void say(model::EventKind kind, std::string text);
  void give(model::RunEvent event);

  world::Loop& loop_;
  const SharedSecrets secrets_;
  dispatch::DispatchListener& listener_;
  Replay replay_;
  bool has_diverged_ = false;
  std::optional<model::EventKind> speaking_;  // whose words `words_` may hold back
  ScrubbedText words_;
  bool is_paused_ = false;
  std::vector<model::RunEvent> waiting_;
  Lifeline lifeline_;
};

}  // namespace sluice::runs
