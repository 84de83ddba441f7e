// What the engine and whoever carries a run say to each other. The engine knows no agent; a
// harness knows no journal.
//
// Dialects of agent programs (bytes in, events out, no I/O) live in this room too.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sluice::harness {

struct HistoryTurn {
  model::Role role = model::Role::user;
  std::string content;
};

// One piece of work: answer `prompt`.
struct Dispatch {
  model::RunId run;
  model::ConversationId conversation;
  model::Agent agent;
  std::vector<HistoryTurn> history;  // before the prompt, oldest first
  std::string prompt;
  bool filler = false;
  std::string traceparent;  // W3C; empty: none

  // When a restarted server takes the work up again: what the journal shows was told already. The
  // agent must go on right after it, without repeating a byte.
  bool resumed = false;
  std::string told_text;
  std::string told_reasoning;
};

// What a dispatch hears. Exactly one of on_finished() and on_failed() ends it.
class DispatchListener {
 public:
  virtual ~DispatchListener() = default;
  // Kinds text, reasoning, filler, log and usage, stamped.
  virtual void on_event(model::RunEvent event) = 0;
  virtual void on_finished(model::Usage usage) = 0;
  virtual void on_failed(model::Problem problem) = 0;
};

// Work in progress. Dropping it ends the work at once; the listener hears nothing more.
class Work {
 public:
  virtual ~Work() = default;
};

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;

  // `listener` must outlive the Work. No callback comes from inside dispatch().
  [[nodiscard]] virtual std::unique_ptr<Work> dispatch(Dispatch dispatch, DispatchListener& listener) = 0;

  // Can work whose journal shows `told_text` go on without repeating or losing a byte? True when
  // nothing was told yet, or when the model answers the same again.
  virtual bool can_resume(const model::Agent& agent, std::string_view told_text) const = 0;

  // False when the agent's model looks only at the last message, so the history need not be read.
  virtual bool reads_history(const model::Agent& agent) const = 0;
};

}  // namespace sluice::harness
