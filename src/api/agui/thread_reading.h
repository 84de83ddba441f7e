// A thread as it is now: what its runs amount to, what is under way and what waits for an answer.
#pragma once

#include <optional>
#include <string>

#include "api/request_context.h"

namespace sluice::api::agui {

struct ThreadNow {
  std::string messages;    // AG-UI's, oldest first: JSON objects with commas between them
  std::string newest_run;  // of the run that is not over, as the client knows it; empty: there is none
  bool waits = false;      // that run, for an answer
  std::string interrupts;  // the answers it waits for: JSON objects with commas between them
  std::string cursor;      // of the page before this one; empty: there is none
};

// At most `limit` runs, those before `before` where that is given. On failure the caller is told, and `then` is not
// called.
void read_thread(const Asked& asked, model::ConversationId conversation, int limit, std::optional<model::RunId> before,
                 Callback<void(const ThreadNow&)> then);

}  // namespace sluice::api::agui
