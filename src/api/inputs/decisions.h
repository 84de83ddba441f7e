// A decision on an approval: its signature is verified, it is completed with the secrets that it needs, and the engine
// applies it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/inputs/secret_input.h"
#include "base/task.h"
#include "engine/engine.h"
#include "gates/gates.h"

namespace sluice::api {

struct DecisionInput {
  bool approve = false;
  std::optional<gates::Signature> signature;  // empty: valid without a signature
  std::vector<SecretInput> secrets;
  std::optional<std::string> note;
  model::GateAnswers answers;
};

// The member `signature` of `fields`.
gates::Signature read_signature(const Fields& fields);
std::optional<std::string> read_note(const Fields& fields);

// Nothing about the approval is disclosed or changed before the signature has been verified. Gives the decided
// approval, or the problem with which the engine refuses; anything else that is wrong is answered.
Task<engine::DecideOutcome> decide_on(const RequestPtr& request, model::Approval approval, DecisionInput input);

}  // namespace sluice::api
