// What a change makes of a workflow and of its run, and when it is refused: the same for every store.
#pragma once

#include <optional>

#include "store/store.h"

namespace sluice::store {

inline std::optional<Error> refusal(const WorkflowPatch& patch, const model::Workflow& workflow) {
  if (!patch.definition_before || *patch.definition_before == workflow.definition) return std::nullopt;
  return Error{ErrorKind::conflict, "the workflow's definition has changed"};
}

inline void apply(const WorkflowPatch& patch, Timestamp at, model::Workflow& workflow) {
  if (patch.name) workflow.name = *patch.name;
  if (patch.description) workflow.description = *patch.description;
  if (patch.definition) workflow.definition = *patch.definition;
  workflow.updated_at = at;
}

inline void apply(const WorkflowAppend& append, model::WorkflowRun& run) {
  run.status = append.run.status;
  run.outputs = append.run.outputs;
  run.error = append.run.error;
  run.blocks = append.run.blocks;
  run.ended_at = append.run.ended_at;
  run.head.value += append.bodies.size();
}

// Two who carry the same run are told apart here: the second finds that the first went on.
inline std::optional<Error> refusal(const WorkflowAppend& append, const model::WorkflowRun& run) {
  if (run.status != model::WorkflowRunStatus::running) return Error{ErrorKind::conflict, "the workflow run is over"};
  if (run.node != append.run.node) return Error{ErrorKind::conflict, "another server carries the workflow run"};
  if (run.head != append.run.head) return Error{ErrorKind::conflict, "the workflow run has gone on"};
  return std::nullopt;
}

inline std::optional<Error> refusal_of_takeover(const model::WorkflowRun& run, model::NodeId seen) {
  if (run.status != model::WorkflowRunStatus::running) return Error{ErrorKind::conflict, "the workflow run is over"};
  if (run.node != seen) return Error{ErrorKind::conflict, "somebody else has taken the workflow run over"};
  return std::nullopt;
}

}  // namespace sluice::store
