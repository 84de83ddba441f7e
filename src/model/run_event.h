// What happens in a run, as its journal keeps it. Every surface is a fold of these.
//
// The numbers are on disk: they are never reused and never change meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sluice::model {

enum class EventKind : uint8_t {
  accepted = 1,     // the user's message is on disk. body: AcceptedBody as JSON
  started = 2,      // the assistant message has opened. body: empty, or {"conversation":{…}} for a new one
  text = 3,         // assistant text. body: the text
  reasoning = 4,    // the model's thinking, not part of the message. body: the text
  filler = 5,       // bridges dead air, not part of the message. body: the text
  log = 6,          // for the trace. body: {"level","text",…}
  usage = 7,        // what the model charged, summed over the run so far. body: {"input_tokens","output_tokens"}
  completed = 8,    // the end. body: the finished message as JSON, exactly as lists show it
  failed = 9,       // the end. body: a problem as JSON
  cancelled = 10,   // the end. body: a problem as JSON
  step = 11,        // a tool call begins or ends. body: {"id","name","status",…} (docs/formats/journal.md)
  output = 12,      // what a tool call prints, as it comes. body: {"id","stream","text"}
  file = 13,        // a file of the workspace came, changed or went. body: {"type","path","timestamp"}
  diff = 14,        // the workspace against the repository as fetched, or its beginning. body: {"path":".","diff"}
  custom = 15,      // whatever a tool tells besides. body: {"name","value"}
  queued = 16,      // it waits for a slot; before `started`. body: {"position","retry_hint_seconds"}
  gate = 17,        // it waits for a human. body: the approval as JSON, pending
  resumed = 18,     // the human agreed. body: {"approval_id","decision":"approved"}
  egress = 19,      // a request left the sandbox, or was kept from it. body: {"host","method","status",…}
  checkpoint = 20,  // from where a parked run goes on; never told. body: the dispatcher's own
  replaced = 21,    // the text so far is taken back but for its first bytes; what follows stands instead.
                    // body: {"kept_bytes"}
  call = 22,        // a tool call is being written, before its step runs. body: {"id","name"} first, then {"id","args"}
                    // for each piece of the arguments' JSON; perhaps with "subagent"
  subagent = 23,    // an agent that the agent set to work. body: {"id","name","status","step_id"?,…}
  subagent_text = 24,  // what it says. body: {"id","text"} or {"id","reasoning"}
  answers = 25,        // what came with the word to go on, right before `resumed`; never told. body: GateAnswers
  mark = 26,           // how far the dispatcher's own account goes that is in the journal; never told. body: its own
};

std::string_view name_of(EventKind kind);

constexpr bool is_terminal(EventKind kind) {
  return kind == EventKind::completed || kind == EventKind::failed || kind == EventKind::cancelled;
}

struct RunEvent {
  EventKind kind = EventKind::log;
  Timestamp at;
  std::string body;
  bool operator==(const RunEvent&) const = default;
};

// One journal row: a batch of consecutive events. Format (docs/formats/journal.md):
//   version byte 1, then per event: kind byte, zigzag varint of milliseconds since the event before
//   it (the first: since 1970), varint of body size, body.
void append_batch(std::string& out, const std::vector<RunEvent>& events);
std::string encode_batch(const std::vector<RunEvent>& events);
// `corrupt` when the bytes are not what append_batch() writes.
Result<std::vector<RunEvent>> decode_batch(std::string_view bytes);

}  // namespace sluice::model
