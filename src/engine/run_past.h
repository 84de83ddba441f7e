// What the journal and the records say of a run that is to be carried on: after a restart, or after a
// human agreed.
#pragma once

#include <optional>
#include <string>

#include "base/task.h"
#include "engine/engine.h"
#include "engine/launch.h"
#include "engine/open_steps.h"
#include "engine/queue_board.h"

namespace sluice::engine {

struct RunPast {
  model::Run run;
  std::string told_text;
  std::string told_reasoning;
  std::string request_id;
  std::string traceparent;
  model::RunExtras extras;
  int64_t resumed_count = 0;                 // how often a human let it go on
  std::vector<model::ClientResult> results;  // that came with the last time
  std::string started_body;                  // for a run that has not been started
  Place told_place;                          // in the queue; position 0: none
  OpenSteps steps;
  bool launched = false;         // a program was about to start, and may have done anything
  Timestamp told_at;             // of its last event
  std::string checkpoint;        // the last one
  std::string mark;              // the last one
  bool checkpoint_used = false;  // somebody went on from there, and may have acted
  model::Message assistant_message;
  model::Message user_message;
  model::Conversation conversation;
  std::optional<model::Agent> agent;  // empty: it does not exist any more
  model::TenantLimits limits;
  std::optional<model::Approval> approval;  // the pending one of a parked run
  bool damaged = false;                     // something of it cannot be read

  // What is to be dispatched, from the checkpoint if there is one. There must be an agent.
  Launch to_launch() const;
  // The same, for work that goes on elsewhere and is heard on from the mark.
  Launch to_reattachment() const;
};

// Reads the past of `run` at its head. Of a parked one only what is needed to wait on. Damage of this one run is
// noted and logged; trouble of the whole store is an error.
Task<Result<RunPast>> read_past(store::Store& store, world::Log& log, model::Run run);

}  // namespace sluice::engine
