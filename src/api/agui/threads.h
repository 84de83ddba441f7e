// The threads of AG-UI clients, computed from the journals of their runs. Called from the loop's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/request/request_context.h"
#include "wire/wire.h"

namespace sluice::api::agui {

// Which runs of a thread are read.
struct ThreadPart {
  int limit = 50;                                     // at most this many, the newest ones
  std::optional<model::RunId> before = std::nullopt;  // only runs before this one
  // The client joins the active run from its start: what that run has sent so far is left out.
  bool is_joined = false;
};

// A thread as it is now.
struct ThreadNow {
  std::string messages;    // AG-UI messages, oldest first: JSON objects with commas between them
  std::string newest_run;  // the client's id of the run that is not over; empty if all are over
  bool waits = false;      // that run waits for an answer
  std::string interrupts;  // the answers it waits for: JSON objects with commas between them
  std::string cursor;      // for the page before this one; empty if there is none
};

// Calls `then`, or answers the request if something fails.
void read_thread(const RequestPtr& request, model::ConversationId conversation, ThreadPart part,
                 Callback<void(const ThreadNow&)> then);

// A client sends a message of the user again to have it answered anew or in other words. Finds the message in its
// thread: calls `then` with Sluice's id of the message that the client calls `prompt_id`, or with nothing if the
// message is new or was replaced before. Answers the request if something fails.
void find_earlier_prompt(const RequestPtr& request, model::ConversationId conversation, std::string prompt_id,
                         Callback<void(std::optional<model::MessageId>)> then);

// The answer to an answer that comes too late: the interrupt was settled by another client, by time or by the run's
// end. Clients repeat it until a run ends well, so they get the thread as it is in the form of such a run: RUN_STARTED,
// MESSAGES_SNAPSHOT, RUN_FINISHED. `messages` are AG-UI's, with commas between them.
std::string settled_stream(wire::Format format, const model::AguiNames& names, std::string_view messages);

}  // namespace sluice::api::agui
