// A thread as it is now: what its runs amount to, what is under way and what waits for an answer.
#pragma once

#include <optional>
#include <string>

#include "api/request_context.h"

namespace sluice::api::agui {

// Which runs of it.
struct ThreadPart {
  int limit = 50;                                     // at most so many, the newest
  std::optional<model::RunId> before = std::nullopt;  // of those before this one
  // The client joins the run that goes on, from its start: what that has told so far is left out.
  bool is_joined = false;
};

struct ThreadNow {
  std::string messages;    // AG-UI's, oldest first: JSON objects with commas between them
  std::string newest_run;  // of the run that is not over, as the client knows it; empty: there is none
  bool waits = false;      // that run, for an answer
  std::string interrupts;  // the answers it waits for: JSON objects with commas between them
  std::string cursor;      // of the page before this one; empty: there is none
};

// On failure the caller is told, and `then` is not called.
void read_thread(const Asked& asked, model::ConversationId conversation, ThreadPart part,
                 Callback<void(const ThreadNow&)> then);

}  // namespace sluice::api::agui
