#include "dispatch/envelope.h"

#include "dispatch/dispatch.h"

namespace sluice::dispatch {
namespace {

namespace events = model::events;
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

constexpr std::string_view gate_type = "approval_required";

void end_with_subagent(LineWriter& line, Timestamp at, const std::string& subagent) {
  if (!subagent.empty()) line->key("subagent").string(subagent);
  line.end(at);
}

}  // namespace

void EventLine::operator()(const events::Log& log) const {
  LineWriter line(out_, "log");
  line->key("level").string(log.level).key("message").string(log.text);
  if (!log.phase.empty()) line->key("phase").string(log.phase);
  if (log.duration_ms) line->key("durationMs").integer(*log.duration_ms);
  line.end(at_);
}

void EventLine::operator()(const events::Step& step) const {
  LineWriter line(out_, "step");
  line->key("id").string(step.id).key("name").string(step.name).key("status").string(model::name_of(step.status));
  if (!step.args.is_missing()) line->key("args").raw(step.args.text);
  if (!step.result.is_missing()) line->key("result").raw(step.result.text);
  if (step.duration_ms) line->key("durationMs").integer(*step.duration_ms);
  if (step.error) line->key("error").string(*step.error);
  end_with_subagent(line, at_, is_extended() ? step.subagent : "");
}

void EventLine::operator()(const events::Output& output) const {
  if (!is_extended()) return;
  LineWriter line(out_, "output");
  line->key("id").string(output.id).key("stream").string(output.stream).key("text").string(output.text);
  end_with_subagent(line, at_, output.subagent);
}

void EventLine::operator()(const events::File& file) const {
  if (!is_extended()) return;
  LineWriter line(out_, "file");
  line->key("event").string(file.type).key("path").string(file.path);
  line.end(at_);
}

void EventLine::operator()(const events::Diff& diff) const {
  if (!is_extended()) return;
  LineWriter line(out_, "diff");
  line->key("diff").string(diff.diff);
  line.end(at_);
}

void EventLine::operator()(const events::Custom& custom) const {
  if (!is_extended()) return;
  LineWriter line(out_, "custom");
  line->key("name").string(custom.name);
  if (!custom.value.is_missing()) line->key("value").raw(custom.value.text);
  line.end(at_);
}

void EventLine::operator()(const events::UsageSum& usage) const {
  if (!is_extended()) return;
  LineWriter line(out_, "usage");
  line->key("input_tokens").integer(usage.input_tokens).key("output_tokens").integer(usage.output_tokens);
  line.end(at_);
}

void EventLine::operator()(const events::Egress& egress) const {
  if (!is_extended()) return;
  LineWriter line(out_, "egress");
  line->key("host").string(egress.host).key("port").integer(egress.port).key("method").string(egress.method);
  line->key("status").integer(egress.status).key("sent_bytes").integer(egress.sent_bytes);
  line->key("received_bytes").integer(egress.received_bytes);
  if (!egress.aliases.is_missing()) line->key("aliases").raw(egress.aliases.text);
  if (!egress.refused.is_missing()) line->key("refused").raw(egress.refused.text);
  line->key("duration_ms").integer(egress.duration_ms);
  if (egress.more) line->key("more").integer(*egress.more);
  if (egress.more_refused) line->key("more_refused").integer(*egress.more_refused);
  line.end(at_);
}

void EventLine::operator()(const events::Replaced& replaced) const {
  if (!is_extended()) return;
  LineWriter line(out_, "replaced");
  if (replaced.kept_bytes) line->key("kept_bytes").integer(*replaced.kept_bytes);
  line.end(at_);
}

void EventLine::operator()(const events::Call& call) const {
  if (!is_extended()) return;
  LineWriter line(out_, "call");
  line->key("id").string(call.id);
  if (!call.name.empty()) line->key("name").string(call.name);
  if (call.args) line->key("args").string(*call.args);
  end_with_subagent(line, at_, call.subagent);
}

void EventLine::operator()(const events::Subagent& subagent) const {
  if (!is_extended()) return;
  LineWriter line(out_, "subagent");
  line->key("id").string(subagent.id).key("name").string(subagent.name);
  line->key("status").string(model::name_of(subagent.status));
  if (!subagent.step_id.empty()) line->key("step_id").string(subagent.step_id);
  if (subagent.error) line->key("error").string(*subagent.error);
  line.end(at_);
}

void EventLine::operator()(const events::SubagentText& text) const {
  if (!is_extended()) return;
  LineWriter line(out_, "subagent_text");
  line->key("id").string(text.id);
  if (text.text) line->key("text").string(*text.text);
  if (text.reasoning) line->key("reasoning").string(*text.reasoning);
  line.end(at_);
}

void EventLine::operator()(const events::Queued& queued) const {
  if (!is_extended()) return;
  LineWriter line(out_, "queued");
  if (queued.position) line->key("position").integer(*queued.position);
  if (queued.retry_hint_seconds) line->key("retry_hint_seconds").integer(*queued.retry_hint_seconds);
  line.end(at_);
}

void EventLine::operator()(const events::Gate& gate) const {
  if (!is_extended()) return;
  LineWriter line(out_, gate_type);
  line->key("approval_id").string(gate.id).key("reason").string(gate.reason);
  if (!gate.requested_items.is_missing()) line->key("requested_items").raw(gate.requested_items.text);
  line->key("expires_at").string(gate.expires_at);
  line.end(at_);
}

void EventLine::operator()(const events::Resumed& resumed) const {
  if (!is_extended()) return;
  LineWriter line(out_, "resumed");
  line->key("approval_id").string(resumed.approval_id).key("decision").string(resumed.decision);
  line.end(at_);
}

void EventLine::operator()(const events::Text& text) const { append_delta("delta", text.text, false); }

void EventLine::operator()(const events::Filler& filler) const { append_delta("delta", filler.text, true); }

void EventLine::operator()(const events::Reasoning& reasoning) const {
  append_delta("reasoning", reasoning.text, false);
}

void EventLine::operator()(const events::Unreadable& event) const {
  const bool is_plain = event.kind == EventKind::log || event.kind == EventKind::step;
  if ((!is_plain && !is_extended()) || event.kind == EventKind::answers) return;
  const auto type = event.kind == EventKind::gate ? gate_type : model::name_of(event.kind);
  LineWriter line(out_, "log");
  line->key("level").string("error").key("message").string("An event of kind " + std::string(type) +
                                                           " could not be reported: its body is not a JSON object.");
  line.end(at_);
}

bool EventLine::is_extended() const { return profile_ == Profile::extended; }

void EventLine::append_delta(std::string_view type, std::string_view text, bool is_filler) const {
  if (!is_extended()) return;
  LineWriter line(out_, type);
  line->key("text").string(text);
  if (is_filler) line->key("filler").boolean(true);
  line.end(at_);
}

void append_line(std::string& out, const model::RunEvent& event, Profile profile) {
  model::visit_event(event, EventLine(out, event.at, profile));
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
  const auto log = model::event_as<events::Log>(event);
  return log && log->phase == launch_phase;
}

model::RunEvent phase_event(std::string_view phase, std::string_view message, int64_t duration_ms, Timestamp at) {
  return model::encode(
      events::Log{
          .level = "info", .text = std::string(message), .phase = std::string(phase), .duration_ms = duration_ms},
      at);
}

}  // namespace sluice::dispatch
