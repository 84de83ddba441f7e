// The runner's lines (S-9): one JSON object a line, `log`, `step`, `result`, `error`; and, for a caller that asked for
// the extended profile, all other events of a run. They are written and read here only, so that both ends agree. No
// I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/event_codec.h"
#include "model/model.h"

namespace sluice::dispatch {

enum class Profile : uint8_t {
  plain,     // log, step, result, error
  extended,  // also delta, reasoning, output, file, diff, custom, usage, egress, replaced, call, subagent,
             // subagent_text; of a server also queued, approval_required and resumed, which no runner sends
};

// How a caller asks for the extended lines of a dispatch of which it has a part already, as its configuration says. A
// runner that does not know this profile refuses its name, instead of sending all lines again.
inline constexpr std::string_view resumed_profile = "resumed";

// The paths of a runner's API. A dispatch has the path "/stream/ID".
inline constexpr std::string_view stream_path = "/stream";
inline constexpr std::string_view acknowledge_suffix = "/ack";
inline constexpr std::string_view health_path = "/healthz";
inline constexpr std::string_view drain_path = "/drain";
inline std::string dispatch_path(std::string_view id) { return std::string(stream_path) + "/" + std::string(id); }
// The body of an acknowledgement: the lines up to this one are safe with the caller.
inline std::string acknowledgement_body(int64_t line) { return "{\"line\":" + std::to_string(line) + "}"; }

// Headers with which a caller re-attaches to a dispatch whose connection it lost.
inline constexpr std::string_view reattach_header = "Sluice-Reattach";  // for so many seconds it is kept
inline constexpr std::string_view dispatch_header = "Sluice-Dispatch";  // its name
// The runner promises the caller to act only after the line that announces the act was acknowledged.
inline constexpr std::string_view careful_header = "Sluice-Careful";
inline constexpr std::string_view reader_header = "Sluice-Reader";  // who reads: of two, the one that came later

// Appends the event's line, or nothing when the profile has none for it. A body that is not what
// its kind says becomes a log line that says so. Not for terminal events: those need what is
// gathered (below).
void append_line(std::string& out, const model::RunEvent& event, Profile profile);

// The same for what an event says. Every kind of event has a line here, or is named as one that has none.
class EventLine final : public model::Ignores<model::events::Accepted, model::events::Started, model::events::Completed,
                                              model::events::Failed, model::events::Cancelled,
                                              model::events::Checkpoint, model::events::Answers, model::events::Mark> {
 public:
  EventLine(std::string& out, Timestamp at, Profile profile) : out_(out), at_(at), profile_(profile) {}

  using Ignores::operator();
  void operator()(const model::events::Log& log) const;
  void operator()(const model::events::Step& step) const;
  void operator()(const model::events::Output& output) const;
  void operator()(const model::events::File& file) const;
  void operator()(const model::events::Diff& diff) const;
  void operator()(const model::events::Custom& custom) const;
  void operator()(const model::events::UsageSum& usage) const;
  void operator()(const model::events::Egress& egress) const;
  void operator()(const model::events::Replaced& replaced) const;
  void operator()(const model::events::Call& call) const;
  void operator()(const model::events::Subagent& subagent) const;
  void operator()(const model::events::SubagentText& text) const;
  void operator()(const model::events::Queued& queued) const;
  void operator()(const model::events::Gate& gate) const;
  void operator()(const model::events::Resumed& resumed) const;
  void operator()(const model::events::Text& text) const;
  void operator()(const model::events::Filler& filler) const;
  void operator()(const model::events::Reasoning& reasoning) const;
  void operator()(const model::events::Unreadable& event) const;

 private:
  bool is_extended() const;
  void append_delta(std::string_view type, std::string_view text, bool is_filler) const;

  std::string& out_;
  Timestamp at_;
  Profile profile_;
};

// The final message. Once, after the last step.
void append_result_line(std::string& out, std::string_view message, const model::Usage& usage, Timestamp at,
                        Profile profile);
// The error that ends the lines instead of a message. `code` is the problem's slug with underscores: "model_timeout".
void append_error_line(std::string& out, const model::Problem& problem, Timestamp at);
// The same for an error that is no problem of the registry: "token_invalid", "bootstrap_failed".
void append_error_line(std::string& out, std::string_view code, std::string_view message, Timestamp at);
// "model_timeout" for "model-timeout".
std::string code_of(std::string_view slug_name);
// A line of the lifecycle (S-5): {"type":"log","level":"info","message":…,"phase":…,"durationMs":…}.
model::RunEvent phase_event(std::string_view phase, std::string_view message, int64_t duration_ms, Timestamp at);

// The last line.
struct ResultLine {
  std::string message;
  model::Usage usage;
};
struct ErrorLine {
  std::string code;
  std::string message;
};
using Line = std::variant<model::RunEvent, ResultLine, ErrorLine>;

// Gathers bytes into lines. Blank lines are skipped and not counted. Events are stamped as the runner stamped them, or
// 0. An unknown type, a line that is no JSON object, a line longer than limits::runner_line_bytes_max, a step that ends
// before it began, a result while one runs, anything after the last line: the stream is refused with `corrupt`, in
// words that say which line and why, and nothing more is read.
class LineReader {
 public:
  LineReader() = default;
  // Continues after line `line_count`, where these steps were running.
  LineReader(int64_t line_count, std::vector<std::string> running)
      : line_count_(line_count), running_(std::move(running)) {}

  Result<std::vector<Line>> feed(std::string_view bytes);
  // The bytes ended: `corrupt` unless a result or an error was the last line.
  Result<Unit> end() const;
  // Forgets the beginning of an incomplete line: its sender begins it again.
  void forget_partial() { partial_.clear(); }

  int64_t line_count() const { return line_count_; }                    // that were complete
  const std::vector<std::string>& running() const { return running_; }  // ids of steps

 private:
  Result<Line> read(std::string_view text);
  Result<Line> read_step(json::Value line, Timestamp at);
  Error refuse(std::string_view why);

  std::string partial_;
  int64_t line_count_ = 0;
  bool over_ = false;  // the last line has come
  bool refused_ = false;
  std::vector<std::string> running_;  // ids of steps
};

}  // namespace sluice::dispatch
