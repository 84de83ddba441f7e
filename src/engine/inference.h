// One call of a model instead of an agent's work: what is left of the agent for it.
#pragma once

#include "model/model.h"

namespace sluice::engine {

// The agent with the call's model and words, and nothing that it could act with.
inline model::Agent narrowed_to(const model::Inference& inference, model::Agent agent) {
  if (!inference.model.provider.empty()) agent.model = inference.model;
  if (inference.max_output_tokens > 0) agent.limits.max_output_tokens = inference.max_output_tokens;
  agent.system_prompt = inference.system_prompt;
  agent.skill_ids.clear();
  agent.environment_id.reset();
  agent.kit = {};
  return agent;
}

}  // namespace sluice::engine
