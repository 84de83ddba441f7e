#include "wire/assistant_fold.h"

#include <charconv>

#include "base/check.h"

namespace sluice::wire {
namespace {

using model::EventKind;

constexpr std::string_view assets_name = "sluice.assets";
constexpr std::string_view run_diff_name = "sluice.run-diff";

std::string text_in(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return std::string(value ? value->string().value_or("") : "");
}

int64_t number_in(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return value ? value->integer().value_or(0) : 0;
}

// Errors of steps are text, as a rule.
std::string error_in(json::Value step) {
  const auto value = step.find("error");
  if (!value) return {};
  return cut_for_display(value->string() ? std::string(*value->string()) : value->to_text(), shown_bytes_max);
}

}  // namespace

AssistantFold::AssistantFold(const model::Run& run, int64_t after) : run_(run), after_(after) {
  answer_.id = run.message_id;
  answer_.created_at = run.created_at;
  chat_.created_at_ms = run.created_at.ms;
}

template <typename Members>
void AssistantFold::tell(std::string_view type, Members members) {
  const int64_t seq = next_seq_++;
  if (seq <= after_) return;
  char number[24];
  const auto [end, failed] = std::to_chars(number, number + sizeof number, seq);
  out_->append("id: ").append(number, end).append("\nevent: ").append(type).append("\ndata: ");
  json::Writer writer(*out_);
  writer.begin_object();
  members(writer);
  writer.end_object();
  *out_ += "\n\n";
}

void AssistantFold::tell_text(std::string_view type, std::string_view text) {
  tell(type, [&](json::Writer& writer) { writer.key("text").string(text); });
}

void AssistantFold::apply(const store::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();
  out_ = &out;
  const auto& event = news.event();
  now_ = event.at;
  switch (event.kind) {
    case EventKind::accepted: return begin(event);
    case EventKind::text: answer_.blocks.say(event.body); return tell_text("delta", event.body);
    case EventKind::reasoning: answer_.blocks.think(event.body); return tell_text("reasoning", event.body);
    case EventKind::filler: return tell_text("filler", event.body);
    case EventKind::completed: return finish(event);
    case EventKind::failed:
    case EventKind::cancelled: return fail(event);
    case EventKind::resumed: return close_gate("approved");
    case EventKind::started:
    case EventKind::log:
    case EventKind::egress:
    case EventKind::checkpoint:
    case EventKind::answers:
    case EventKind::mark: return;
    case EventKind::usage:
    case EventKind::step:
    case EventKind::output:
    case EventKind::file:
    case EventKind::diff:
    case EventKind::custom:
    case EventKind::queued:
    case EventKind::gate:
    case EventKind::replaced:
    case EventKind::call:
    case EventKind::subagent:
    case EventKind::subagent_text: break;
  }
  if (const auto body = json::Document::parse(event.body)) tell_body(event.kind, body.value().root());
}

void AssistantFold::tell_body(EventKind kind, json::Value body) {
  switch (kind) {
    case EventKind::usage: return note_usage(body);
    case EventKind::step: return tell_step(body);
    case EventKind::output: return tell_output(body);
    case EventKind::file: return tell_file(body);
    case EventKind::diff: return tell_diff(body);
    case EventKind::custom: return tell_custom(body);
    case EventKind::queued: return tell_queued(body);
    case EventKind::gate: return tell_gate(body);
    case EventKind::replaced: return take_back(body);
    case EventKind::call: return tell_call(body);
    case EventKind::subagent: return tell_subagent(body);
    case EventKind::subagent_text: return tell_subagent_text(body);
    default: return;
  }
}

// ── its beginning ──

void AssistantFold::begin(const model::RunEvent& accepted) {
  answer_.created_at = accepted.at;
  if (const auto body = json::Document::parse(accepted.body)) {
    if (auto chat = model::extras_from_json(body.value().root()).chat) chat_ = *std::move(chat);
  }
  tell("chat", [&](json::Writer& writer) {
    writer.key("chatId").string(run_.conversation_id.text()).key("streamId").string(run_.id.text());
    writer.key("userMessageId").string(run_.user_message_id.text()).key("messageId").string(run_.message_id.text());
    writer.key("title").string(chat_.title).key("createdAt").integer(chat_.created_at_ms);
  });
}

void AssistantFold::tell_queued(json::Value body) {
  tell("queued", [&](json::Writer& writer) {
    writer.key("position").integer(number_in(body, "position"));
    writer.key("retryHintSeconds").integer(number_in(body, "retry_hint_seconds"));
  });
}

// ── words ──

void AssistantFold::take_back(json::Value body) {
  const auto member = body.find("kept_bytes");
  const auto asked = member ? member->integer() : std::nullopt;
  const auto kept = asked ? answer_.blocks.take_back(*asked) : std::nullopt;
  if (!kept) return;
  tell("replace", [&](json::Writer& writer) { writer.key("keptBytes").integer(static_cast<int64_t>(*kept)); });
  give_up_calls("The answer was begun anew.");
}

// ── steps ──

void AssistantFold::tell_step(json::Value body) {
  const auto id = text_in(body, "id");
  const auto status = text_in(body, "status");
  if (id.empty() || (status != "running" && status != "succeeded" && status != "failed")) return;
  auto& step = answer_.blocks.step(id);
  if (auto name = text_in(body, "name"); !name.empty()) step.name = std::move(name);
  if (auto subagent = text_in(body, "subagent"); !subagent.empty()) step.subagent = std::move(subagent);
  step.status = status;
  step.was_run = true;
  step.result.reset();
  step.error.reset();
  step.duration_ms.reset();
  if (const auto args = body.find("args")) step.args = shown_arguments(*args);
  if (const auto result = body.find("result")) step.result = shown_value(*result, shown_bytes_max);
  if (status == "failed") step.error = error_in(body);
  if (body.find("durationMs")) step.duration_ms = number_in(body, "durationMs");
  tell_step(step, body.find("args").has_value());
}

// A call whose arguments are still being written is a row already: a long file takes its time.
void AssistantFold::tell_call(json::Value body) {
  const auto id = text_in(body, "id");
  const auto name = text_in(body, "name");
  if (id.empty() || name.empty()) return;
  auto& step = answer_.blocks.step(id);
  if (step.was_run) return;
  step.name = name;
  step.subagent = text_in(body, "subagent");
  step.status = "running";
  step.error.reset();
  tell_step(step, false);
}

void AssistantFold::tell_step(const StepBlock& step, bool with_args) {
  tell("step", [&](json::Writer& writer) {
    append_members(writer, step, with_args);
    writer.key("ts").integer(now_.ms);
  });
}

void AssistantFold::give_up_calls(std::string_view why) {
  for (auto* step : answer_.blocks.written_steps()) {
    step->status = "failed";
    step->error = why;
    tell_step(*step, false);
  }
}

void AssistantFold::tell_output(json::Value body) {
  auto* step = answer_.blocks.find_step(text_in(body, "id"));
  const auto text = text_in(body, "text");
  if (step == nullptr || text.empty()) return;
  answer_.blocks.print(*step, text);
  tell("output", [&](json::Writer& writer) {
    writer.key("id").string(step->id).key("stream").string(text_in(body, "stream")).key("text").string(text);
  });
}

// ── the workspace, and what tools tell ──

void AssistantFold::tell_file(json::Value body) {
  const auto type = text_in(body, "type");
  const auto path = text_in(body, "path");
  if (path.empty()) return;
  answer_.blocks.change_file(type, path);
  tell("file", [&](json::Writer& writer) {
    writer.key("type").string(type).key("path").string(path).key("ts").integer(now_.ms);
  });
}

void AssistantFold::tell_diff(json::Value body) {
  const auto diff = cut_for_display(text_in(body, "diff"), diff_bytes_max);
  answer_.blocks.set_diff(diff);
  tell("diff", [&](json::Writer& writer) { writer.key("diff").string(diff); });
}

void AssistantFold::tell_custom(json::Value body) {
  const auto name = text_in(body, "name");
  const auto value = body.find("value").value_or(json::Value());
  if (const auto files = value.find("files"); files && name == assets_name) return tell_assets(*files);
  if (const auto diff = value.find("diff"); diff && name == run_diff_name) return tell_run_diff(value);
  const auto shown = shown_value(value, value_bytes_max);
  answer_.blocks.add_output(name, shown);
  tell("custom", [&](json::Writer& writer) { writer.key("name").string(name).key("value").raw(shown); });
}

void AssistantFold::tell_run_diff(json::Value value) {
  const auto diff = cut_for_display(text_in(value, "diff"), diff_bytes_max);
  answer_.blocks.set_run_diff(diff);
  tell("custom", [&](json::Writer& writer) {
    writer.key("name").string(run_diff_name).key("value").begin_object().key("diff").string(diff).end_object();
  });
}

// As the chat's bag has them, so that nobody need ask for them.
void AssistantFold::tell_assets(json::Value files) {
  std::string list;
  json::Writer list_writer(list);
  list_writer.begin_array();
  files.each_element([&](json::Value item) {
    const auto id = model::FileId::parse(text_in(item, "id"));
    if (!id) return;
    model::BagFile file{.id = *id, .chat_id = run_.conversation_id, .source = model::FileSource::sandbox};
    file.name = text_in(item, "name");
    file.type = text_in(item, "type");
    file.size_bytes = number_in(item, "size");
    file.sha256 = text_in(item, "sha256");
    file.created_at = now_;
    model::append_chat_file(list_writer, file);
  });
  list_writer.end_array();
  answer_.blocks.add_assets(list);
  tell("custom", [&](json::Writer& writer) {
    writer.key("name").string(assets_name).key("value").begin_object().key("files").raw(list).end_object();
  });
}

// ── waiting for a human ──

void AssistantFold::tell_gate(json::Value body) {
  auto& approval = answer_.blocks.approval(text_in(body, "id"));
  approval.status = "pending";
  approval.reason = text_in(body, "reason");
  if (const auto items = body.find("requested_items")) approval.items = items->to_text();
  approval.expires_at_ms = from_rfc3339(text_in(body, "expires_at")).value_or(Timestamp{}).ms;
  tell("approval", [&](json::Writer& writer) { append_members(writer, approval); });
}

void AssistantFold::close_gate(std::string_view status) {
  auto* approval = answer_.blocks.pending_approval();
  if (approval == nullptr) return;
  approval->status = status;
  tell("approval", [&](json::Writer& writer) { append_members(writer, *approval); });
}

// ── agents that the agent set to work ──

void AssistantFold::tell_subagent(json::Value body) {
  const auto id = text_in(body, "id");
  if (id.empty()) return;
  auto& subagent = answer_.blocks.subagent(id);
  if (auto name = text_in(body, "name"); !name.empty()) subagent.name = std::move(name);
  subagent.status = text_in(body, "status");
  if (body.find("error")) subagent.error = error_in(body);
  tell("subagent", [&](json::Writer& writer) {
    writer.key("id").string(id).key("name").string(subagent.name).key("status").string(subagent.status);
    if (subagent.error) writer.key("error").string(*subagent.error);
  });
}

// What it thinks is left out: it is nobody's answer.
void AssistantFold::tell_subagent_text(json::Value body) {
  const auto id = text_in(body, "id");
  const auto text = text_in(body, "text");
  if (id.empty() || text.empty()) return;
  auto& subagent = answer_.blocks.subagent(id);
  answer_.blocks.say(subagent, text);
  tell("subagent", [&](json::Writer& writer) {
    writer.key("id").string(id).key("name").string(subagent.name).key("status").string(subagent.status);
    writer.key("text").string(text);
  });
}

// ── its end ──

void AssistantFold::note_usage(json::Value body) {
  answer_.usage = model::Usage{number_in(body, "input_tokens"), number_in(body, "output_tokens")};
}

void AssistantFold::finish(const model::RunEvent& completed) {
  give_up_calls("It was not carried out.");
  const auto message = model::message_from_json(completed.body);
  if (message && message.value().usage) answer_.usage = message.value().usage;
  tell("result", [&](json::Writer& writer) {
    writer.key("messageId").string(run_.message_id.text());
    append_json(writer.key("message"), answer_);
    append_json(writer.key("usage"), answer_.usage.value_or(model::Usage{}));
  });
  ended_ = true;
  tell("done", [](json::Writer&) {});
}

void AssistantFold::fail(const model::RunEvent& end) {
  int64_t status = 500;
  answer_.error_code = "internal";
  if (const auto problem = json::Document::parse(end.body)) {
    const auto root = problem.value().root();
    const auto type = text_in(root, "type");
    if (!type.empty()) answer_.error_code = type.substr(type.rfind('/') + 1);
    answer_.error_text = text_in(root, "detail");
    if (answer_.error_text.empty()) answer_.error_text = text_in(root, "title");
    if (root.find("status")) status = number_in(root, "status");
  }
  answer_.status = end.kind == EventKind::cancelled ? ChatAnswer::Status::cancelled : ChatAnswer::Status::failed;
  give_up_calls("It was not carried out.");
  close_gate(answer_.error_code == model::entry_of(model::Slug::approval_denied).name ? "denied" : "expired");
  tell("error", [&](json::Writer& writer) {
    writer.key("code").string(answer_.error_code).key("message").string(answer_.error_text);
    writer.key("status").integer(status).key("messageId").string(run_.message_id.text());
  });
  ended_ = true;
  tell("done", [](json::Writer&) {});
}

// ── later ──

// Nobody has a frame of that number: everything is looked at, nothing is told.
ChatHistory::ChatHistory(const model::Run& run) : fold_(run, INT64_MAX) {}

void ChatHistory::apply(const store::Committed& news) {
  std::string nothing;
  fold_.apply(news, nothing);
}

void ChatHistory::append_question(json::Writer& writer, std::string_view text) const {
  append_json(writer, ChatQuestion{fold_.run_.user_message_id, fold_.run_.conversation_id, text,
                                   fold_.chat_.attachments, fold_.answer_.created_at});
}

void ChatHistory::append_answer(json::Writer& writer) const { append_json(writer, fold_.answer_); }

}  // namespace sluice::wire
