// The ids that AG-UI clients have of tool calls. Any thread may call these functions.
//
// The native loop counts the steps of each run anew, and a client keeps those of a whole thread apart by their ids: so
// the client's id of a step names the message too.
#pragma once

#include <string>
#include <string_view>

#include "model/records.h"

namespace sluice::wire {

std::string call_id_of(const model::Run& run, std::string_view step_id);
// The step that a client's id stands for, whatever the client sends.
std::string_view step_id_of(std::string_view call_id);

}  // namespace sluice::wire
