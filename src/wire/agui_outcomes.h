// How a segment of an AG-UI stream ends, as JSON: what waits for an answer, and why a run failed. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/event_codec.h"
#include "model/model.h"

namespace sluice::wire {

inline constexpr std::string_view agui_success = R"({"type":"success"})";

// A problem for programs and for people; never empty.
struct AguiError {
  std::string code;
  std::string message;
};
AguiError agui_error_of(const model::events::EndProblem& problem);

// The outcome of a segment that waits for a human's decision. `run_id` is the segment's.
std::string approval_outcome(const model::events::Gate& gate, const model::Run& run, std::string_view run_id);
// The outcome of a segment that waits for the results of the client's own tools, as TanStack's client wants it.
std::string client_tools_outcome(const std::vector<model::RequestedItem>& items, const model::Run& run,
                                 std::string_view run_id);
// The elements of the list in either.
std::string interrupts_in(std::string_view outcome);

}  // namespace sluice::wire
