// What the handlers of AG-UI share: the body of a request, the runs that clients name, and threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/inputs/decisions.h"
#include "api/request/fields.h"
#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "base/task.h"
#include "journal/journal.h"
#include "wire/wire.h"

namespace sluice::api::agui {

// ── the body with which a client starts or continues a run (RunAgentInput) ──

// Kinds of clients: what one of them needs another one refuses.
enum class Peer : uint8_t {
  current,   // names its protocolVersion
  old,       // before 1.0
  tanstack,  // TanStack AI: has `data`, or the header X-Run-Id
};

// An answer to an interrupt.
struct ResumeEntry {
  std::string interrupt_id;
  bool is_cancelled = false;  // the user declined to answer
  std::optional<bool> approved;
  std::string payload;  // JSON, or the text itself where it is one
  bool has_payload = false;
  std::optional<gates::Signature> signature;
  std::vector<SecretInput> secrets;
  std::optional<std::string> note;
};

struct RunInput {
  Peer peer = Peer::old;
  model::RunExtras extras;                   // with the client's names
  std::string prompt_id;                     // of the user's message
  std::string prompt;                        // of the user's message, if that is the last; empty: it is not
  bool ends_with_user = false;               // the last message is the user's, whatever it says
  std::vector<model::ClientResult> results;  // of the tool messages after the last word of user or agent
  std::vector<ResumeEntry> resume;
  bool hold = false;  // wait if all slots are taken, instead of being refused
  const model::AguiNames& names() const { return *extras.agui; }
};

// Empty: the body is invalid, and the request has been answered.
std::optional<RunInput> read_run_input(const RequestPtr& request);

// The format that the client accepts: server-sent events, or one event a line.
wire::Format format_for(const RequestPtr& request, Peer peer);

// TanStack calls the wait for the call step_3 "client_tool_step_3".
inline constexpr std::string_view client_tool_prefix = "client_tool_";

// ── the runs and agents that a client names ──

// The last frame of a run that a client has; -1: none.
struct Seen {
  bool is_named = false;  // by Last-Event-ID, or `offset`
  int64_t after = -1;
};
// `id` is "<runId>-<n>", or "-1". An id of another run, or an invalid one, is refused under `name`.
Seen read_seen(std::string_view id, std::string_view run_id, std::string_view name, Findings& findings);

// The run; otherwise the answer is 404. An empty thread matches any thread.
Task<journal::AguiRun> named_run(const RequestPtr& request, std::string thread_id, std::string run_id);

// Streams the run from the client's position.
Task<> stream_named(const RequestPtr& request, const journal::AguiRun& named, wire::Format format, int64_t after);

// The agent that the path names by id or name, if it names one. The answer is 404 if the tenant has no such agent.
Task<std::optional<model::AgentId>> agent_of_path(const RequestPtr& request);

// ── threads, computed from the journals of their runs ──

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

Task<ThreadNow> read_thread(const RequestPtr& request, model::ConversationId conversation, ThreadPart part);

// A client sends a message of the user again to have it answered anew or in other words. Finds the message in its
// thread: gives Sluice's id of the message that the client calls `prompt_id`, or nothing if the message is new or was
// replaced before.
Task<std::optional<model::MessageId>> find_earlier_prompt(const RequestPtr& request, model::ConversationId conversation,
                                                          std::string prompt_id);

// The answer to an answer that comes too late: the interrupt was settled by another client, by time or by the run's
// end. Clients repeat it until a run ends well, so they get the thread as it is in the form of such a run: RUN_STARTED,
// MESSAGES_SNAPSHOT, RUN_FINISHED. `messages` are AG-UI's, with commas between them.
std::string settled_stream(wire::Format format, const model::AguiNames& names, std::string_view messages);

// AG-UI messages as TanStack AI's client keeps them: one message a turn, with parts. `messages` is a JSON array, and so
// is the result. Pure.
std::string ui_messages(std::string_view messages);

}  // namespace sluice::api::agui
