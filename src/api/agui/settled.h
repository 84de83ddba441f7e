// The answer to an answer that comes too late: what it was about is settled already, by whoever was quicker, by time or
// by the run's end. Clients keep asking for it until a run ends well, so they are told the thread as it is, as such a
// run.
#pragma once

#include <string>
#include <string_view>

#include "model/model.h"
#include "wire/wire.h"

namespace sluice::api::agui {

// A whole stream: RUN_STARTED, MESSAGES_SNAPSHOT, RUN_FINISHED. `messages` are AG-UI's, with commas between them.
std::string settled_stream(wire::Format format, const model::AguiNames& names, std::string_view messages);

}  // namespace sluice::api::agui
