// The words of mail between engines: what is asked and answered, as JSON. Secrets travel as sealed as they are kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/engine.h"

namespace sluice::engine::mail {

// Kinds.
inline constexpr std::string_view to_cancel = "cancel";                   // {"tenant"} → {"run"}|{"problem"}
inline constexpr std::string_view to_decide = "decide";                   // the Decision → {"approval"}|{"problem"}
inline constexpr std::string_view to_take = "take";                       // TakeRequest → {"taken"}
inline constexpr std::string_view conversation_changed = "conversation";  // {"tenant","conversation"} → {}
inline constexpr std::string_view secrets_changed = "secrets";            // {"tenant"} → {}

// One member of text.
std::string object_of(std::string_view name, std::string_view value);
std::string object_of(model::TenantId tenant, std::string_view name, std::string_view value);
// A member of an object; empty when there is none.
std::string text_in(std::string_view json, std::string_view name);

std::string to_json(const Decision& decision);
std::optional<Decision> decision_from_json(std::string_view json);

std::string problem_answer(const model::Problem& problem);
// The problem that an answer tells; empty when it tells of success.
std::optional<model::Problem> problem_in(std::string_view json);

struct TakeRequest {
  model::TenantId tenant;
  model::RunId run;
  model::Epoch epoch;  // at which it is to be taken, or not at all
};
std::string to_json(const TakeRequest& request);
std::optional<TakeRequest> take_from_json(std::string_view json);

}  // namespace sluice::engine::mail
