#include "model/event_codec.h"

#include <concepts>
#include <type_traits>

#include "base/json.h"
#include "base/utf8.h"
#include "model/enum_names.h"
#include "model/json.h"

namespace sluice::model {
namespace {

using namespace events;

constexpr std::array<std::string_view, 4> step_statuses = {"", "running", "succeeded", "failed"};
constexpr std::array<std::string_view, 4> subagent_statuses = {"", "started", "finished", "failed"};

void read_word(StepStatus& word, std::string_view text) {
  word = named<StepStatus>(step_statuses, text).value_or(StepStatus::unknown);
}
void read_word(SubagentStatus& word, std::string_view text) {
  word = named<SubagentStatus>(subagent_statuses, text).value_or(SubagentStatus::unknown);
}

// Each kind's members are listed once, in the order in which they are written. Members that are "given" are left out
// where there is nothing to say.
class MemberWriter {
 public:
  explicit MemberWriter(json::Writer& writer) : writer_(writer) {}

  void text(std::string_view name, std::string_view value) { writer_.key(name).string(value); }
  void number(std::string_view name, int64_t value) { writer_.key(name).integer(value); }
  void word(std::string_view name, auto value) { text(name, name_of(value)); }
  void given(std::string_view name, const std::string& value) {
    if (!value.empty()) text(name, value);
  }
  void given(std::string_view name, const std::optional<std::string>& value) {
    if (value) text(name, *value);
  }
  void given(std::string_view name, const std::optional<int64_t>& value) {
    if (value) number(name, *value);
  }
  void given(std::string_view name, const RawJson& value) {
    if (!value.is_missing()) writer_.key(name).raw(value.text);
  }
  void extras(const RunExtras& value) { append_extras_members(writer_, value); }

 private:
  json::Writer& writer_;
};

class MemberReader {
 public:
  explicit MemberReader(json::Value object) : object_(object) {}

  void text(std::string_view name, std::string& value) { value = text_of(object_, name); }
  void number(std::string_view name, int64_t& value) {
    if (const auto member = object_.find(name)) value = member->integer().value_or(value);
  }
  void word(std::string_view name, auto& value) { read_word(value, text_of(object_, name)); }
  void given(std::string_view name, std::string& value) { text(name, value); }
  // Runners of others have told of errors that were no text.
  void given(std::string_view name, std::optional<std::string>& value) {
    const auto member = object_.find(name);
    if (member) value = member->string() ? std::string(*member->string()) : member->to_text();
  }
  void given(std::string_view name, std::optional<int64_t>& value) {
    if (const auto member = object_.find(name)) value = member->integer();
  }
  void given(std::string_view name, RawJson& value) {
    if (const auto member = object_.find(name)) value.text = member->to_text();
  }
  void extras(RunExtras& value) { value = extras_from_json(object_); }

 private:
  json::Value object_;
};

// `T` to be read into, or const `T` to be written.
template <typename Event, typename T>
concept Of = std::same_as<std::remove_const_t<Event>, T>;

void members(auto& io, Of<Accepted> auto& event) {
  io.text("request_id", event.request_id);
  io.given("traceparent", event.traceparent);
  io.given("conversation", event.conversation);
  io.extras(event.extras);
}

void members(auto& io, Of<Started> auto& event) { io.given("conversation", event.conversation); }

void members(auto& io, Of<Log> auto& event) {
  io.text("level", event.level);
  io.text("text", event.text);
  io.given("phase", event.phase);
  io.given("durationMs", event.duration_ms);
  io.given("attempt", event.attempt);
  io.given("retry_in_ms", event.retry_in_ms);
}

void members(auto& io, Of<UsageSum> auto& event) {
  io.number("input_tokens", event.input_tokens);
  io.number("output_tokens", event.output_tokens);
  io.given("model", event.model);
}

void members(auto& io, Of<Step> auto& event) {
  io.text("id", event.id);
  io.text("name", event.name);
  io.word("status", event.status);
  io.given("args", event.args);
  io.given("result", event.result);
  io.given("error", event.error);
  io.given("durationMs", event.duration_ms);
  io.given("subagent", event.subagent);
}

void members(auto& io, Of<Output> auto& event) {
  io.text("id", event.id);
  io.text("stream", event.stream);
  io.text("text", event.text);
  io.given("subagent", event.subagent);
}

void members(auto& io, Of<File> auto& event) {
  io.text("type", event.type);
  io.text("path", event.path);
  io.number("timestamp", event.timestamp_ms);
}

void members(auto& io, Of<Diff> auto& event) {
  io.text("path", event.path);
  io.text("diff", event.diff);
}

void members(auto& io, Of<Custom> auto& event) {
  io.text("name", event.name);
  io.given("value", event.value);
}

void members(auto& io, Of<Queued> auto& event) {
  io.given("position", event.position);
  io.given("retry_hint_seconds", event.retry_hint_seconds);
}

void members(auto& io, Of<Resumed> auto& event) {
  io.text("approval_id", event.approval_id);
  io.text("decision", event.decision);
}

void members(auto& io, Of<Egress> auto& event) {
  io.text("host", event.host);
  io.number("port", event.port);
  io.text("method", event.method);
  io.number("status", event.status);
  io.number("sent_bytes", event.sent_bytes);
  io.number("received_bytes", event.received_bytes);
  io.given("aliases", event.aliases);
  io.given("refused", event.refused);
  io.number("duration_ms", event.duration_ms);
  io.given("more", event.more);
  io.given("more_refused", event.more_refused);
}

void members(auto& io, Of<Replaced> auto& event) { io.given("kept_bytes", event.kept_bytes); }

void members(auto& io, Of<Call> auto& event) {
  io.text("id", event.id);
  io.given("name", event.name);
  io.given("args", event.args);
  io.given("subagent", event.subagent);
}

void members(auto& io, Of<Subagent> auto& event) {
  io.text("id", event.id);
  io.text("name", event.name);
  io.word("status", event.status);
  io.given("step_id", event.step_id);
  io.given("error", event.error);
}

void members(auto& io, Of<SubagentText> auto& event) {
  io.text("id", event.id);
  io.given("text", event.text);
  io.given("reasoning", event.reasoning);
}

std::string body_of(const auto& event) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  MemberWriter out(writer);
  members(out, event);
  writer.end_object();
  return body;
}
std::string body_of(const Started& event) {
  return event.conversation.is_missing() ? "" : R"({"conversation":)" + event.conversation.text + "}";
}
std::string body_of(const Text& event) { return std::string(event.text); }
std::string body_of(const Reasoning& event) { return std::string(event.text); }
std::string body_of(const Filler& event) { return std::string(event.text); }
std::string body_of(const Completed& event) { return event.message; }
std::string body_of(const Failed& event) { return event.problem; }
std::string body_of(const Cancelled& event) { return event.problem; }
std::string body_of(const Gate& event) { return event.approval.text; }
std::string body_of(const Checkpoint& event) { return std::string(event.state); }
std::string body_of(const Mark& event) { return std::string(event.account); }
std::string body_of(const Answers& event) { return to_json(event.answers); }
std::string body_of(const Unreadable& event) { return event.body; }

template <typename T>
void read(json::Value object, T& event) {
  MemberReader in(object);
  members(in, event);
}
void read(json::Value object, Answers& event) { event.answers = answers_from_json(object); }
void read(json::Value object, Gate& event) {
  event.approval.text = object.to_text();
  event.id = text_of(object, "id");
  event.reason = text_of(object, "reason");
  event.expires_at = text_of(object, "expires_at");
  const auto items = object.find("requested_items");
  if (!items) return;
  event.requested_items.text = items->to_text();
  event.items = items_from_json(*items);
}
void read(json::Value object, Completed& event) {
  event.content = text_of(object, "content");
  const auto usage = object.find("usage");
  if (!usage || usage->is_null()) return;
  UsageSum sum;
  read(*usage, sum);
  event.usage = Usage{sum.input_tokens, sum.output_tokens};
}
void read(json::Value object, EndProblem& event) {
  const auto type = text_of(object, "type");
  event.code = type.substr(type.rfind('/') + 1);
  event.title = text_of(object, "title");
  event.detail = text_of(object, "detail");
  if (const auto status = object.find("status")) event.status = status->integer().value_or(event.status);
}

// The object in `body`, read into `event`; false when there is none.
template <typename T>
bool read_body(std::string_view body, T& event) {
  const auto document = json::Document::parse(body);
  if (!document || document.value().root().kind() != json::Kind::object) return false;
  read(document.value().root(), event);
  return true;
}

template <typename T>
EventData decode_as(const RunEvent& event) {
  T out;
  if (!read_body(event.body, out)) return Unreadable{event.kind, event.body};
  return out;
}

// Nothing in the body decides whether it happened.
template <typename T>
EventData decode_whatever(const RunEvent& event, T out = {}) {
  read_body(event.body, out);
  return out;
}

EventData decode_end(const RunEvent& event) {
  EndProblem problem{.problem = event.body};
  read_body(event.body, problem);
  if (event.kind == EventKind::failed) return Failed{std::move(problem)};
  return Cancelled{std::move(problem)};
}

}  // namespace

std::string_view name_of(StepStatus status) { return name_in(step_statuses, status); }
std::string_view name_of(SubagentStatus status) { return name_in(subagent_statuses, status); }

EventKind kind_of(const EventData& data) {
  return std::visit([](const auto& event) { return event.kind; }, data);
}

EventData decode(const RunEvent& event) {
  switch (event.kind) {
    case EventKind::accepted: return decode_whatever<Accepted>(event);
    case EventKind::started: return decode_whatever<Started>(event);
    case EventKind::text: return Text{event.body};
    case EventKind::reasoning: return Reasoning{event.body};
    case EventKind::filler: return Filler{event.body};
    case EventKind::log: return decode_as<Log>(event);
    case EventKind::usage: return decode_as<UsageSum>(event);
    case EventKind::completed: return decode_whatever(event, Completed{.message = event.body});
    case EventKind::failed:
    case EventKind::cancelled: return decode_end(event);
    case EventKind::step: return decode_as<Step>(event);
    case EventKind::output: return decode_as<Output>(event);
    case EventKind::file: return decode_as<File>(event);
    case EventKind::diff: return decode_as<Diff>(event);
    case EventKind::custom: return decode_as<Custom>(event);
    case EventKind::queued: return decode_as<Queued>(event);
    case EventKind::gate: return decode_as<Gate>(event);
    case EventKind::resumed: return decode_whatever<Resumed>(event);
    case EventKind::egress: return decode_as<Egress>(event);
    case EventKind::checkpoint: return Checkpoint{event.body};
    case EventKind::replaced: return decode_as<Replaced>(event);
    case EventKind::call: return decode_as<Call>(event);
    case EventKind::subagent: return decode_as<Subagent>(event);
    case EventKind::subagent_text: return decode_as<SubagentText>(event);
    case EventKind::answers: return decode_as<Answers>(event);
    case EventKind::mark: return Mark{event.body};
  }
  return Unreadable{event.kind, event.body};
}

RunEvent encode(const EventData& data, Timestamp at) {
  return std::visit([&](const auto& event) { return RunEvent{event.kind, at, body_of(event)}; }, data);
}

bool take_back(std::string& text, const Replaced& replaced) {
  const auto kept = replaced.kept_bytes;
  if (!kept || *kept < 0 || static_cast<uint64_t>(*kept) > text.size()) return false;
  text.resize(utf8_prefix_size(text, static_cast<std::size_t>(*kept)));
  return true;
}

bool take_back(std::string& told, std::string_view replaced_body) {
  const auto replaced = event_as<Replaced>({EventKind::replaced, {}, std::string(replaced_body)});
  return replaced && take_back(told, *replaced);
}

}  // namespace sluice::model
