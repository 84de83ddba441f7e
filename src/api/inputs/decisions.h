// A decision on an approval, from whoever brings it: proven, completed with what is asked for, and handed to the
// engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/inputs/secret_input.h"
#include "gates/gates.h"

namespace sluice::api {

struct DecisionInput {
  bool approve = false;
  std::optional<gates::Signature> signature;  // empty: it counts without one
  std::vector<SecretInput> secrets;
  std::optional<std::string> note;
  model::GateAnswers answers;
};

// The member `signature` of what `fields` has.
gates::Signature read_signature(const Fields& fields);
std::optional<std::string> read_note(const Fields& fields);

// Nothing about the approval is told or changed before the signature is proven. On failure the caller is told, and
// `done` is not called; what the engine refuses is handed to `refused`, where that is given.
void decide_on(const RequestPtr& request, model::Approval approval, DecisionInput input,
               Callback<void(const model::Approval&)> done, Callback<void(const model::Problem&)> refused = nullptr);

}  // namespace sluice::api
