// All that is needed to dispatch a run, kept while it waits for its slot.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/limits.h"
#include "dispatch/dispatch.h"
#include "engine/queue_board.h"
#include "store/store.h"

namespace sluice::engine {

struct Launch {
  dispatch::Dispatch work;
  store::MaterialNames names;                   // of what is still to be found for it
  std::optional<store::LaunchRecords> records;  // what was found already
  model::Runtime runtime;                       // of its conversation
  Place told_place;                             // in the queue, before a restart; position 0: none
  std::string started_body;                     // of the `started` event, if that is still to be written
};

// For one call of a model instead of an agent's work: the agent with the call's model and words, and nothing that it
// could act with.
inline model::Agent narrowed_to(const model::Inference& inference, model::Agent agent) {
  if (!inference.model.provider.empty()) agent.model = inference.model;
  if (inference.max_output_tokens > 0) agent.limits.max_output_tokens = inference.max_output_tokens;
  agent.system_prompt = inference.system_prompt;
  agent.skill_ids.clear();
  agent.environment_id.reset();
  agent.kit = {};
  return agent;
}

// How much of its conversation's history a run is given. A-4: a chat's turn is answered from its last turns, on
// whichever surface it is answered.
inline int history_turns_max(const model::Agent& agent, const model::RunExtras& extras) {
  const auto turns_max = extras.chat ? limits::replay_turns_max : limits::history_messages_max;
  return static_cast<int>(std::min<int64_t>(agent.limits.max_history_messages, static_cast<int64_t>(turns_max)));
}

}  // namespace sluice::engine
