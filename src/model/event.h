// What an event of a run says: one struct for each kind (docs/formats/events.md). Values only. They are made by the
// producers of events or by decode() (model/event_codec.h), and may be used on any thread.
//
// RunEvent (model/run_event.h) is the event as it is on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/gates.h"
#include "model/kit.h"
#include "model/records.h"
#include "model/run_event.h"

namespace sluice::model {

// A JSON value that is not ours to interpret, as compact text; empty when there is none.
struct RawJson {
  std::string text;
  bool is_missing() const { return text.empty(); }
};

namespace events {

// The user's message is on disk.
struct Accepted {
  static constexpr EventKind kind = EventKind::accepted;
  std::string request_id;
  std::string traceparent;  // empty when the request had none
  RawJson conversation;     // the one that was created with a message that is held
  RunExtras extras;
};

// The assistant message has opened.
struct Started {
  static constexpr EventKind kind = EventKind::started;
  RawJson conversation;  // the one that was created with the message
};

// Assistant text. It and the two kinds after it are views: of the body when they were decoded.
struct Text {
  static constexpr EventKind kind = EventKind::text;
  std::string_view text;
};
// The model's thinking, which is not part of the message.
struct Reasoning {
  static constexpr EventKind kind = EventKind::reasoning;
  std::string_view text;
};
// Text that bridges a silence and is not part of the message.
struct Filler {
  static constexpr EventKind kind = EventKind::filler;
  std::string_view text;
};

// A line for the trace.
struct Log {
  static constexpr EventKind kind = EventKind::log;
  std::string level;
  std::string text;
  std::string phase;                   // of the sandbox's life, which ended with this line; empty: it is none
  std::optional<int64_t> duration_ms;  // of the phase
  std::optional<int64_t> attempt;      // of a model call that failed and is made again, as the next
  std::optional<int64_t> retry_in_ms;
};

// What the model charged, summed over the run so far.
struct UsageSum {
  static constexpr EventKind kind = EventKind::usage;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  std::string model;  // empty: not said
};
// The run's end: its finished message.
struct Completed {
  static constexpr EventKind kind = EventKind::completed;
  std::string message;  // JSON, exactly as lists show it
  std::string content;  // its text
  std::optional<Usage> usage;
};

// A problem that ended a run.
struct EndProblem {
  std::string problem;  // JSON, exactly as it is shown
  std::string code;     // the last part of its type: "approval-denied"; empty when it has none, as the next two
  std::string title;
  std::string detail;
  int64_t status = 500;
  // For people: the detail, or else the title.
  const std::string& words() const { return detail.empty() ? title : detail; }
};
// The run's end: it could not be completed.
struct Failed : EndProblem {
  static constexpr EventKind kind = EventKind::failed;
};
// The run's end: it was stopped.
struct Cancelled : EndProblem {
  static constexpr EventKind kind = EventKind::cancelled;
};

enum class StepStatus : uint8_t { unknown, running, succeeded, failed };

// A tool call begins or ends.
struct Step {
  static constexpr EventKind kind = EventKind::step;
  std::string id;
  std::string name;
  StepStatus status = StepStatus::unknown;
  RawJson args;                      // at its beginning
  RawJson result;                    // of a step that succeeded
  std::optional<std::string> error;  // of a step that failed
  std::optional<int64_t> duration_ms;
  std::string subagent;  // that called it; empty: the agent itself
};
// What a tool call prints, as it comes.
struct Output {
  static constexpr EventKind kind = EventKind::output;
  std::string id;      // of the step
  std::string stream;  // "stdout" or "stderr"
  std::string text;
  std::string subagent;
};
// A file of the workspace came, changed or went.
struct File {
  static constexpr EventKind kind = EventKind::file;
  std::string type;  // "create", "change" or "delete"
  std::string path;
  int64_t timestamp_ms = 0;
};
// The differences between the workspace and the repository as it was fetched, or the workspace's beginning.
struct Diff {
  static constexpr EventKind kind = EventKind::diff;
  std::string path;
  std::string diff;
};
// What a tool or a sandbox reports besides.
struct Custom {
  static constexpr EventKind kind = EventKind::custom;
  std::string name;
  RawJson value;
};
// The run waits for a slot.
struct Queued {
  static constexpr EventKind kind = EventKind::queued;
  std::optional<int64_t> position;  // 1 is next
  std::optional<int64_t> retry_hint_seconds;
};
// The run waits for a human.
struct Gate {
  static constexpr EventKind kind = EventKind::gate;
  RawJson approval;  // as clients see it, pending
  std::string id;    // the approval's, as all that follows
  std::string reason;
  std::string expires_at;
  RawJson requested_items;
  std::vector<RequestedItem> items;
};
// The human agreed.
struct Resumed {
  static constexpr EventKind kind = EventKind::resumed;
  std::string approval_id;
  std::string decision;
};

// A request left the sandbox or was refused; or the sum of several to one host.
struct Egress {
  static constexpr EventKind kind = EventKind::egress;
  std::string host;
  int64_t port = 0;
  std::string method;
  int64_t status = 0;
  int64_t sent_bytes = 0;
  int64_t received_bytes = 0;
  RawJson aliases;  // a list of texts
  RawJson refused;  // a text, or null
  int64_t duration_ms = 0;
  std::optional<int64_t> more;
  std::optional<int64_t> more_refused;
};
// From where a parked run resumes: the dispatcher's own words, no part of any wire.
struct Checkpoint {
  static constexpr EventKind kind = EventKind::checkpoint;
  std::string_view state;  // empty: the last checkpoint is used up
};
// The text so far is taken back but for its first bytes.
struct Replaced {
  static constexpr EventKind kind = EventKind::replaced;
  std::optional<int64_t> kept_bytes;
};

// A tool call is being written: its name first, then its arguments' JSON in pieces.
struct Call {
  static constexpr EventKind kind = EventKind::call;
  std::string id;  // of the step that it becomes
  std::string name;
  std::optional<std::string> args;
  std::string subagent;
};

enum class SubagentStatus : uint8_t { unknown, started, finished, failed };

// An agent that the agent started begins or ends its work.
struct Subagent {
  static constexpr EventKind kind = EventKind::subagent;
  std::string id;
  std::string name;
  SubagentStatus status = SubagentStatus::unknown;
  std::string step_id;  // the tool call that started it
  std::optional<std::string> error;
};
// Text or reasoning of a subagent.
struct SubagentText {
  static constexpr EventKind kind = EventKind::subagent_text;
  std::string id;
  std::optional<std::string> text;
  std::optional<std::string> reasoning;
};
// What came with the decision to resume.
struct Answers {
  static constexpr EventKind kind = EventKind::answers;
  GateAnswers answers;
};
// How far the dispatcher's own account is in the journal: its own words, no part of any wire.
struct Mark {
  static constexpr EventKind kind = EventKind::mark;
  std::string_view account;
};
// A body that should be a JSON object and is not: a damaged disk, or another program's.
struct Unreadable {
  EventKind kind = EventKind::log;
  std::string body;
};

}  // namespace events

using EventData =
    std::variant<events::Accepted, events::Started, events::Text, events::Reasoning, events::Filler, events::Log,
                 events::UsageSum, events::Completed, events::Failed, events::Cancelled, events::Step, events::Output,
                 events::File, events::Diff, events::Custom, events::Queued, events::Gate, events::Resumed,
                 events::Egress, events::Checkpoint, events::Replaced, events::Call, events::Subagent,
                 events::SubagentText, events::Answers, events::Mark, events::Unreadable>;

}  // namespace sluice::model
