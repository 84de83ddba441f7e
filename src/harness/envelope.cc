#include "harness/envelope.h"

#include <span>

#include "harness/harness.h"

namespace sluice::harness {
namespace {

using model::EventKind;

// One line, from its type to its time.
class LineWriter final {
 public:
  LineWriter(std::string& out, std::string_view type) : out_(out), writer_(out) {
    writer_.begin_object().key("type").string(type);
  }
  json::Writer& operator*() { return writer_; }
  json::Writer* operator->() { return &writer_; }
  void end(Timestamp at) {
    writer_.key("ts").integer(at.ms).end_object();
    out_ += '\n';
  }

 private:
  std::string& out_;
  json::Writer writer_;
};

// A member of a body and what it is called in a line.
struct Member {
  std::string_view in_body;
  std::string_view in_line;
  Profile least = Profile::plain;
};

struct JsonKind {
  EventKind kind;
  Profile least;
  std::string_view type;
  std::span<const Member> members;
};

constexpr Member log_members[] = {
    {"level", "level"}, {"text", "message"}, {"phase", "phase"}, {"durationMs", "durationMs"}};
constexpr Member step_members[] = {{"id", "id"},         {"name", "name"},
                                   {"status", "status"}, {"args", "args"},
                                   {"result", "result"}, {"durationMs", "durationMs"},
                                   {"error", "error"},   {"subagent", "subagent", Profile::extended}};
constexpr Member output_members[] = {{"id", "id"}, {"stream", "stream"}, {"text", "text"}, {"subagent", "subagent"}};
constexpr Member file_members[] = {{"type", "event"}, {"path", "path"}};
constexpr Member diff_members[] = {{"diff", "diff"}};
constexpr Member custom_members[] = {{"name", "name"}, {"value", "value"}};
constexpr Member usage_members[] = {{"input_tokens", "input_tokens"}, {"output_tokens", "output_tokens"}};
constexpr Member egress_members[] = {{"host", "host"},
                                     {"port", "port"},
                                     {"method", "method"},
                                     {"status", "status"},
                                     {"sent_bytes", "sent_bytes"},
                                     {"received_bytes", "received_bytes"},
                                     {"aliases", "aliases"},
                                     {"refused", "refused"},
                                     {"duration_ms", "duration_ms"},
                                     {"more", "more"},
                                     {"more_refused", "more_refused"}};
constexpr Member replaced_members[] = {{"kept_bytes", "kept_bytes"}};
constexpr Member call_members[] = {{"id", "id"}, {"name", "name"}, {"args", "args"}, {"subagent", "subagent"}};
constexpr Member subagent_members[] = {
    {"id", "id"}, {"name", "name"}, {"status", "status"}, {"step_id", "step_id"}, {"error", "error"}};
constexpr Member subagent_text_members[] = {{"id", "id"}, {"text", "text"}, {"reasoning", "reasoning"}};
constexpr Member queued_members[] = {{"position", "position"}, {"retry_hint_seconds", "retry_hint_seconds"}};
constexpr Member gate_members[] = {
    {"id", "approval_id"}, {"reason", "reason"}, {"requested_items", "requested_items"}, {"expires_at", "expires_at"}};
constexpr Member resumed_members[] = {{"approval_id", "approval_id"}, {"decision", "decision"}};

// The kinds whose body is JSON.
constexpr JsonKind json_kinds[] = {
    {EventKind::log, Profile::plain, "log", log_members},
    {EventKind::step, Profile::plain, "step", step_members},
    {EventKind::output, Profile::extended, "output", output_members},
    {EventKind::file, Profile::extended, "file", file_members},
    {EventKind::diff, Profile::extended, "diff", diff_members},
    {EventKind::custom, Profile::extended, "custom", custom_members},
    {EventKind::usage, Profile::extended, "usage", usage_members},
    {EventKind::egress, Profile::extended, "egress", egress_members},
    {EventKind::replaced, Profile::extended, "replaced", replaced_members},
    {EventKind::call, Profile::extended, "call", call_members},
    {EventKind::subagent, Profile::extended, "subagent", subagent_members},
    {EventKind::subagent_text, Profile::extended, "subagent_text", subagent_text_members},
    {EventKind::queued, Profile::extended, "queued", queued_members},
    {EventKind::gate, Profile::extended, "approval_required", gate_members},
    {EventKind::resumed, Profile::extended, "resumed", resumed_members},
};

void append_json_kind(std::string& out, const JsonKind& kind, const model::RunEvent& event, Profile profile) {
  // Parsed rather than spliced: a body with a line break in it would be two lines.
  const auto document = json::Document::parse(event.body);
  if (!document || document.value().root().kind() != json::Kind::object) {
    LineWriter line(out, "log");
    line->key("level").string("error").key("message").string("An event of kind " + std::string(kind.type) +
                                                             " could not be told: its body is not a JSON object.");
    return line.end(event.at);
  }
  LineWriter line(out, kind.type);
  for (const auto& member : kind.members) {
    if (profile < member.least) continue;
    if (const auto value = document.value().root().find(member.in_body)) {
      line->key(member.in_line).raw(value->to_text());
    }
  }
  line.end(event.at);
}

void append_text_line(std::string& out, std::string_view type, const model::RunEvent& event) {
  LineWriter line(out, type);
  line->key("text").string(event.body);
  if (event.kind == EventKind::filler) line->key("filler").boolean(true);
  line.end(event.at);
}

}  // namespace

void append_line(std::string& out, const model::RunEvent& event, Profile profile) {
  for (const auto& kind : json_kinds) {
    if (kind.kind != event.kind) continue;
    if (kind.least <= profile) append_json_kind(out, kind, event, profile);
    return;
  }
  if (profile == Profile::plain) return;
  if (event.kind == EventKind::text || event.kind == EventKind::filler) append_text_line(out, "delta", event);
  if (event.kind == EventKind::reasoning) append_text_line(out, "reasoning", event);
}

void append_result_line(std::string& out, std::string_view message, const model::Usage& usage, Timestamp at,
                        Profile profile) {
  LineWriter line(out, "result");
  line->key("message").string(message);
  if (profile == Profile::extended) {
    line->key("usage").begin_object().key("input_tokens").integer(usage.input_tokens);
    line->key("output_tokens").integer(usage.output_tokens).end_object();
  }
  line.end(at);
}

void append_error_line(std::string& out, const model::Problem& problem, Timestamp at) {
  const auto& entry = model::entry_of(problem.slug);
  append_error_line(out, code_of(entry.name), problem.detail.empty() ? entry.title : problem.detail, at);
}

void append_error_line(std::string& out, std::string_view code, std::string_view message, Timestamp at) {
  LineWriter line(out, "error");
  line->key("code").string(code).key("message").string(message);
  line.end(at);
}

std::string code_of(std::string_view slug_name) {
  std::string code(slug_name);
  for (char& c : code) {
    if (c == '-') c = '_';
  }
  return code;
}

bool is_launch(const model::RunEvent& event) {
  if (event.kind != EventKind::log) return false;
  return event.body.find("\"phase\":\"" + std::string(launch_phase) + "\"") != std::string::npos;
}

model::RunEvent phase_event(std::string_view phase, std::string_view message, int64_t duration_ms, Timestamp at) {
  model::RunEvent event{.kind = EventKind::log, .at = at};
  json::Writer(event.body)
      .begin_object()
      .key("level")
      .string("info")
      .key("text")
      .string(message)
      .key("phase")
      .string(phase)
      .key("durationMs")
      .integer(duration_ms)
      .end_object();
  return event;
}

}  // namespace sluice::harness
