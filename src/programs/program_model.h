// The model of an agent program. The program asks it from inside the sandbox, through the sandbox's way out, which puts
// the key in: the program knows a placeholder only. So the model's host is reachable from the sandbox whatever else is,
// and its key can be sent there and nowhere else, in a header.
//
// A base URL of http:// works too, but its key goes along only where egress.plaintext_secrets says so; otherwise the
// way out refuses the request in words, which the program reports as its model's error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/harness.h"
#include "inference/inference.h"
#include "model/model.h"
#include "vault/vault.h"

namespace sluice::programs {

inline constexpr std::string_view model_key_alias = "SLUICE_MODEL_KEY";

struct ProgramModel {
  harness::ModelAccess access;
  std::string host;  // empty: it asks none that we know of
  int port = 0;
  std::string alias;                 // of the key; empty: there is none
  std::optional<vault::Secret> key;  // of the provider's own, to be pinned among the run's secrets
};

// `invalid`, in words for the person who set the agent up. "acp" alone may have a model that is offline: it brings its
// own.
Result<ProgramModel> plan_program_model(const inference::Route& route, const model::Agent& agent);

// Why no run of this agent can ask its model, as the run would say it; empty: no reason is known before a run. The
// model of an agent program must not be on the loopback interface.
std::string fault_of_program_model(const inference::Options& options, const model::Agent& agent);

// The agent's policy with the model's host allowed.
model::Policy policy_with(const ProgramModel& model, model::Policy policy);

}  // namespace sluice::programs
