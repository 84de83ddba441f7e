// What an AG-UI client says was said before its message, as turns for a model.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"

namespace sluice::engine {

// Of `messages`, a JSON array, what users and assistants said before the last message of the user, oldest first: at
// most `count_max` turns and limits::history_bytes_max; the newest counts first.
std::vector<dispatch::HistoryTurn> client_history(std::string_view messages, std::size_t count_max);

}  // namespace sluice::engine
