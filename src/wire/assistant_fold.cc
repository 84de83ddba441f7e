#include "wire/assistant_fold.h"

#include <charconv>

#include "base/check.h"

namespace sluice::wire {
namespace {

namespace events = model::events;

constexpr std::string_view assets_name = "sluice.assets";
constexpr std::string_view run_diff_name = "sluice.run-diff";

int64_t number_in(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return value ? value->integer().value_or(0) : 0;
}

std::optional<std::string> shown_error(const std::optional<std::string>& error) {
  if (!error) return std::nullopt;
  return cut_for_display(*error, shown_bytes_max);
}

}  // namespace

AssistantFold::AssistantFold(const model::Run& run, int64_t after) : run_(run), after_(after) {
  answer_.id = run.message_id;
  answer_.created_at = run.created_at;
  chat_.created_at_ms = run.created_at.ms;
}

template <typename Members>
void AssistantFold::write(std::string_view type, Members members) {
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

void AssistantFold::write_text(std::string_view type, std::string_view text) {
  write(type, [&](json::Writer& writer) { writer.key("text").string(text); });
}

void AssistantFold::apply(const journal::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();
  out_ = &out;
  const auto& event = news.event();
  now_ = event.at;
  news.visit(model::Visitor{
      [&](const events::Accepted& accepted) { begin(accepted); },
      [&](const events::Text& text) {
        answer_.blocks.say(text.text);
        write_text("delta", text.text);
      },
      [&](const events::Reasoning& reasoning) {
        answer_.blocks.think(reasoning.text);
        write_text("reasoning", reasoning.text);
      },
      [&](const events::Filler& filler) { write_text("filler", filler.text); },
      [&](const events::Completed& completed) { finish(completed); },
      [&](const events::Failed& failed) { fail(failed, ChatAnswer::Status::failed); },
      [&](const events::Cancelled& cancelled) { fail(cancelled, ChatAnswer::Status::cancelled); },
      [&](const events::UsageSum& usage) { answer_.usage = model::Usage{usage.input_tokens, usage.output_tokens}; },
      [&](const events::Step& step) { show_step(step); },
      [&](const events::Call& call) { show_call(call); },
      [&](const events::Output& output) { show_output(output); },
      [&](const events::File& file) { show_file(file); },
      [&](const events::Diff& diff) { show_diff(diff); },
      [&](const events::Custom& custom) { show_custom(custom); },
      [&](const events::Queued& queued) { show_queued(queued); },
      [&](const events::Gate& gate) { show_gate(gate); },
      [&](const events::Resumed&) { close_gate("approved"); },
      [&](const events::Replaced& replaced) { take_back(replaced); },
      [&](const events::Subagent& subagent) { show_subagent(subagent); },
      [&](const events::SubagentText& text) { show_subagent_text(text); },
      // A chat does not show these.
      model::Ignores<events::Started, events::Log, events::Egress, events::Checkpoint, events::Answers, events::Mark,
                     events::Unreadable>{},
  });
}

// ── its beginning ──

void AssistantFold::begin(const events::Accepted& accepted) {
  answer_.created_at = now_;
  if (accepted.extras.chat) chat_ = *accepted.extras.chat;
  write("chat", [&](json::Writer& writer) {
    writer.key("chatId").string(run_.conversation_id.text()).key("streamId").string(run_.id.text());
    writer.key("userMessageId").string(run_.user_message_id.text()).key("messageId").string(run_.message_id.text());
    writer.key("title").string(chat_.title).key("createdAt").integer(chat_.created_at_ms);
  });
}

void AssistantFold::show_queued(const events::Queued& queued) {
  write("queued", [&](json::Writer& writer) {
    writer.key("position").integer(queued.position.value_or(0));
    writer.key("retryHintSeconds").integer(queued.retry_hint_seconds.value_or(0));
  });
}

// ── words ──

void AssistantFold::take_back(const events::Replaced& replaced) {
  const auto kept = replaced.kept_bytes ? answer_.blocks.take_back(*replaced.kept_bytes) : std::nullopt;
  if (!kept) return;
  write("replace", [&](json::Writer& writer) { writer.key("keptBytes").integer(static_cast<int64_t>(*kept)); });
  give_up_calls("The answer was begun anew.");
}

// ── steps ──

void AssistantFold::show_step(const events::Step& event) {
  if (event.id.empty() || event.status == events::StepStatus::unknown) return;
  auto& step = answer_.blocks.step(event.id);
  if (!event.name.empty()) step.name = event.name;
  if (!event.subagent.empty()) step.subagent = event.subagent;
  step.status = model::name_of(event.status);
  step.was_run = true;
  step.result.reset();
  step.error.reset();
  if (!event.args.is_missing()) step.args = shown_arguments(event.args.text);
  if (!event.result.is_missing()) step.result = shown_value(event.result.text, shown_bytes_max);
  if (event.status == events::StepStatus::failed) step.error = shown_error(event.error).value_or("");
  step.duration_ms = event.duration_ms;
  write_step(step, !event.args.is_missing());
}

// A call whose arguments are still being written is a row already: a long file takes its time.
void AssistantFold::show_call(const events::Call& call) {
  if (call.id.empty() || call.name.empty()) return;
  auto& step = answer_.blocks.step(call.id);
  if (step.was_run) return;
  step.name = call.name;
  step.subagent = call.subagent;
  step.status = "running";
  step.error.reset();
  write_step(step, false);
}

void AssistantFold::write_step(const StepBlock& step, bool with_args) {
  write("step", [&](json::Writer& writer) {
    append_members(writer, step, with_args);
    writer.key("ts").integer(now_.ms);
  });
}

void AssistantFold::give_up_calls(std::string_view why) {
  for (auto* step : answer_.blocks.written_steps()) {
    step->status = "failed";
    step->error = why;
    write_step(*step, false);
  }
}

void AssistantFold::show_output(const events::Output& output) {
  auto* step = answer_.blocks.find_step(output.id);
  if (step == nullptr || output.text.empty()) return;
  answer_.blocks.print(*step, output.text);
  write("output", [&](json::Writer& writer) {
    writer.key("id").string(step->id).key("stream").string(output.stream).key("text").string(output.text);
  });
}

// ── the workspace, and what tools report ──

void AssistantFold::show_file(const events::File& file) {
  if (file.path.empty()) return;
  answer_.blocks.change_file(file.type, file.path);
  write("file", [&](json::Writer& writer) {
    writer.key("type").string(file.type).key("path").string(file.path).key("ts").integer(now_.ms);
  });
}

void AssistantFold::show_diff(const events::Diff& event) {
  const auto diff = cut_for_display(event.diff, diff_bytes_max);
  answer_.blocks.set_diff(diff);
  write("diff", [&](json::Writer& writer) { writer.key("diff").string(diff); });
}

void AssistantFold::show_custom(const events::Custom& custom) {
  if (custom.name == assets_name || custom.name == run_diff_name) {
    const auto value = json::Document::parse(custom.value.text);
    const bool is_assets = custom.name == assets_name;
    const auto member = value ? value.value().root().find(is_assets ? "files" : "diff") : std::nullopt;
    if (member) return is_assets ? show_assets(*member) : show_run_diff(member->string().value_or(""));
  }
  const auto shown = custom.value.is_missing() ? "null" : shown_value(custom.value.text, value_bytes_max);
  answer_.blocks.add_output(custom.name, shown);
  write("custom", [&](json::Writer& writer) { writer.key("name").string(custom.name).key("value").raw(shown); });
}

void AssistantFold::show_run_diff(std::string_view whole) {
  const auto diff = cut_for_display(whole, diff_bytes_max);
  answer_.blocks.set_run_diff(diff);
  write("custom", [&](json::Writer& writer) {
    writer.key("name").string(run_diff_name).key("value").begin_object().key("diff").string(diff).end_object();
  });
}

// The files as the chat's bag has them, so that no client need ask for them.
void AssistantFold::show_assets(json::Value files) {
  std::string list;
  json::Writer list_writer(list);
  list_writer.begin_array();
  files.each_element([&](json::Value item) {
    const auto id = model::FileId::parse(text_of(item, "id"));
    if (!id) return;
    model::BagFile file{.id = *id, .chat_id = run_.conversation_id, .source = model::FileSource::sandbox};
    file.name = text_of(item, "name");
    file.type = text_of(item, "type");
    file.size_bytes = number_in(item, "size");
    file.sha256 = text_of(item, "sha256");
    file.created_at = now_;
    model::append_chat_file(list_writer, file);
  });
  list_writer.end_array();
  answer_.blocks.add_assets(list);
  write("custom", [&](json::Writer& writer) {
    writer.key("name").string(assets_name).key("value").begin_object().key("files").raw(list).end_object();
  });
}

// ── waiting for a human ──

void AssistantFold::show_gate(const events::Gate& gate) {
  auto& approval = answer_.blocks.approval(gate.id);
  approval.status = "pending";
  approval.reason = gate.reason;
  if (!gate.requested_items.is_missing()) approval.items = gate.requested_items.text;
  approval.expires_at_ms = from_rfc3339(gate.expires_at).value_or(Timestamp{}).ms;
  write("approval", [&](json::Writer& writer) { append_members(writer, approval); });
}

void AssistantFold::close_gate(std::string_view status) {
  auto* approval = answer_.blocks.pending_approval();
  if (approval == nullptr) return;
  approval->status = status;
  write("approval", [&](json::Writer& writer) { append_members(writer, *approval); });
}

// ── subagents ──

void AssistantFold::show_subagent(const events::Subagent& event) {
  if (event.id.empty()) return;
  auto& subagent = answer_.blocks.subagent(event.id);
  if (!event.name.empty()) subagent.name = event.name;
  subagent.status = model::name_of(event.status);
  if (event.error) subagent.error = shown_error(event.error);
  write("subagent", [&](json::Writer& writer) {
    writer.key("id").string(event.id).key("name").string(subagent.name).key("status").string(subagent.status);
    if (subagent.error) writer.key("error").string(*subagent.error);
  });
}

// A subagent's reasoning is left out: it answers no question of the user.
void AssistantFold::show_subagent_text(const events::SubagentText& event) {
  if (event.id.empty() || event.text.value_or("").empty()) return;
  auto& subagent = answer_.blocks.subagent(event.id);
  answer_.blocks.say(subagent, *event.text);
  write("subagent", [&](json::Writer& writer) {
    writer.key("id").string(event.id).key("name").string(subagent.name).key("status").string(subagent.status);
    writer.key("text").string(*event.text);
  });
}

// ── its end ──

void AssistantFold::finish(const events::Completed& completed) {
  give_up_calls("It was not carried out.");
  if (completed.usage) answer_.usage = completed.usage;
  write("result", [&](json::Writer& writer) {
    writer.key("messageId").string(run_.message_id.text());
    append_json(writer.key("message"), answer_);
    append_json(writer.key("usage"), answer_.usage.value_or(model::Usage{}));
  });
  ended_ = true;
  write("done", [](json::Writer&) {});
}

void AssistantFold::fail(const events::EndProblem& problem, ChatAnswer::Status status) {
  answer_.error_code = problem.code.empty() ? "internal" : problem.code;
  answer_.error_text = problem.words();
  answer_.status = status;
  give_up_calls("It was not carried out.");
  close_gate(answer_.error_code == model::entry_of(model::Slug::approval_denied).name ? "denied" : "expired");
  write("error", [&](json::Writer& writer) {
    writer.key("code").string(answer_.error_code).key("message").string(answer_.error_text);
    writer.key("status").integer(problem.status).key("messageId").string(run_.message_id.text());
  });
  ended_ = true;
  write("done", [](json::Writer&) {});
}

// ── later ──

// No reader has a frame of that number: everything is folded, nothing is written.
ChatHistory::ChatHistory(const model::Run& run) : fold_(run, INT64_MAX) {}

void ChatHistory::apply(const journal::Committed& news) {
  std::string nothing;
  fold_.apply(news, nothing);
}

void ChatHistory::append_question(json::Writer& writer, std::string_view text) const {
  append_json(writer, ChatQuestion{fold_.run_.user_message_id, fold_.run_.conversation_id, text,
                                   fold_.chat_.attachments, fold_.answer_.created_at});
}

void ChatHistory::append_answer(json::Writer& writer) const { append_json(writer, fold_.answer_); }

}  // namespace sluice::wire
