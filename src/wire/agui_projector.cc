#include "wire/agui_projector.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "wire/agui_call_ids.h"

namespace sluice::wire {
namespace {

namespace events = model::events;
using Items = std::vector<model::RequestedItem>;

constexpr std::size_t snapshot_bytes_max = std::size_t{8} << 20;  // a client gives up a frame of 10 MiB

constexpr std::string_view agui_success = R"({"type":"success"})";

// A problem for programs and for people; never empty.
struct AguiError {
  std::string code;
  std::string message;
};

// What an answer must look like. Members in the order of their names: TanStack's client compares the digest of the
// text that it would write.
constexpr std::string_view decision_schema =
    R"({"properties":{"approved":{"type":"boolean"},"note":{"type":"string"}},"required":["approved"],"type":"object"})";
constexpr std::string_view secrets_schema =
    R"({"properties":{"approved":{"type":"boolean"},"note":{"type":"string"},)"
    R"("secrets":{"additionalProperties":{"type":"string"},"type":"object"}},"required":["approved"],"type":"object"})";

std::string digest(std::string_view text) { return "sha256:" + to_hex(sha256(text)); }

AguiError agui_error_of(const model::events::EndProblem& problem) {
  return {problem.code.empty() ? "internal" : problem.code,
          problem.words().empty() ? "The run failed." : problem.words()};
}

// The outcome of a segment that waits for a human's decision, as JSON. `run_id` is the segment's.
std::string approval_outcome(const model::events::Gate& gate, const model::Run& run, std::string_view run_id) {
  const auto call = std::ranges::find_if(gate.items, [](const auto& item) { return item.call.has_value(); });
  const bool asks_secret =
      std::ranges::any_of(gate.items, [](const auto& item) { return item.kind == model::ItemKind::secret; });
  const auto schema = asks_secret ? secrets_schema : decision_schema;

  std::string outcome;
  json::Writer writer(outcome);
  writer.begin_object().key("type").string("interrupt").key("interrupts").begin_array().begin_object();
  writer.key("id").string(gate.id).key("reason");
  if (call != gate.items.end()) {
    writer.string("tool_call").key("toolCallId").string(call_id_of(run, call->call->id));
  } else {
    writer.string(asks_secret ? "input_required" : "confirmation");
  }
  writer.key("message").string(gate.reason).key("responseSchema").raw(schema);
  if (!gate.expires_at.empty()) writer.key("expiresAt").string(gate.expires_at);
  writer.key("metadata").begin_object();
  writer.key("sluice").begin_object().key("approval").raw(gate.approval.text).end_object();
  writer.key("tanstack:interruptBinding").begin_object().key("v").integer(1).key("kind").string("generic");
  writer.key("interruptId").string(gate.id).key("interruptedRunId").string(run_id).key("generation").integer(0);
  writer.key("responseSchemaHash").string(digest(schema)).end_object();
  writer.end_object().end_object().end_array().end_object();
  return outcome;
}

// The outcome of a segment that waits for the results of the client's own tools, as TanStack's client wants it.
std::string client_tools_outcome(const std::vector<model::RequestedItem>& items, const model::Run& run,
                                 std::string_view run_id) {
  std::string outcome;
  json::Writer writer(outcome);
  writer.begin_object().key("type").string("interrupt").key("interrupts").begin_array();
  for (const auto& item : items) {
    const auto call_id = call_id_of(run, item.call->id);
    const auto id = "client_tool_" + call_id;
    const auto input = json::Document::parse(item.call->arguments);
    writer.begin_object().key("id").string(id).key("reason").string("tanstack:client_tool_execution");
    writer.key("toolCallId").string(call_id).key("responseSchema").raw("{}").key("metadata").begin_object();
    writer.key("kind").string("client_tool").key("toolName").string(item.call->name);
    writer.key("input").raw(input ? input.value().root().to_text() : "{}");
    writer.key("tanstack:interruptBinding").begin_object().key("v").integer(1);
    writer.key("kind").string("client-tool-execution").key("interruptId").string(id);
    writer.key("interruptedRunId").string(run_id).key("generation").integer(0);
    writer.key("toolName").string(item.call->name).key("toolCallId").string(call_id);
    // Clients say nothing of what the tool returns.
    writer.key("outputSchemaHash").string(digest("undefined")).key("responseSchemaHash").string(digest("{}"));
    writer.end_object().end_object().end_object();
  }
  writer.end_array().end_object();
  return outcome;
}

// The elements of the list in either.
std::string interrupts_in(std::string_view outcome) {
  constexpr std::string_view head = R"({"type":"interrupt","interrupts":[)";
  constexpr std::string_view tail = "]}";
  SLUICE_CHECK(outcome.starts_with(head) && outcome.ends_with(tail));
  return std::string(outcome.substr(head.size(), outcome.size() - head.size() - tail.size()));
}

bool is_of_client(const model::RequestedItem& item) { return item.kind == model::ItemKind::client_tool && item.call; }

}  // namespace

AguiProjector::AguiProjector(const View& view, const model::Run& run)
    : view_(view), run_(run), calls_(view.format, view.after, run), thread_id_(run.conversation_id.text()) {}

void AguiProjector::apply(const journal::Committed& news, std::string& out) {
  if (is_over()) return;
  const auto& event = news.event();
  frames().aim(out, event.at);
  if (segment_ < 0) {
    if (const auto accepted = model::event_as<events::Accepted>(event)) take_names(*accepted);
    begin_segment();
  }
  if (!is_parked_ || wakes_to_end(news)) show(news);
  if (model::is_terminal(event.kind)) is_run_over_ = true;
}

// ── segments ──

void AguiProjector::take_names(const events::Accepted& accepted) {
  const auto& agui = accepted.extras.agui;
  if (!agui) return;
  has_client_ = true;
  thread_id_ = agui->thread_id;
  next_run_id_ = agui->run_id;
  parent_run_id_ = agui->parent_run_id;
  const auto messages = json::Document::parse(agui->messages);
  if (!messages) return;
  messages.value().root().each_element([&](json::Value message) {
    const auto text = message.to_text();
    if (text_of(message, "role") == "user") {
      earlier_bytes_ = client_messages_.size();
      user_message_ = text;
    }
    if (!client_messages_.empty()) client_messages_ += ',';
    client_messages_ += text;
  });
}

void AguiProjector::begin_segment() {
  ++segment_;
  count_before_segment_ = transcript().count();
  is_parked_ = false;
  interrupts_.clear();
  const auto before = run_id_;
  run_id_ = segment_ == 0 ? run_.id.text() : run_.id.text() + "." + std::to_string(segment_);
  if (next_run_id_) run_id_ = *std::exchange(next_run_id_, std::nullopt);
  if (segment_ > 0) {
    parent_run_id_.reset();
    // TanStack's client names the run that waited as the parent of the one that resumes it.
    if (frames().peer() == AguiPeer::tanstack) parent_run_id_ = before;
  }
  usage_.begin_segment();
  phases_.clear();
  voices().begin_segment();
  frames().begin_stream(run_id_, segment_ == view_.segment);
  calls_.begin_segment();
  frames().write({AguiType::run_started, run_id_}, [&](json::Writer& writer) {
    writer.key("threadId").string(thread_id_).key("runId").string(run_id_);
    if (parent_run_id_) writer.key("parentRunId").string(*parent_run_id_);
    writer.key("protocolVersion").string("1.0");
  });
  if (segment_ > 0) write_conversation();
}

bool AguiProjector::wakes_to_end(const journal::Committed& news) {
  bool wakes = false;
  std::optional<std::string> why;  // it ends
  news.visit(model::Visitor{
      [&](const events::Answers& event) {
        next_run_id_ = event.answers.agui_run_id;
        for (const auto& result : event.answers.results) calls_.set_answered_by_client(step_id_of(result.call_id));
      },
      [&](const events::Step& step) { late_steps_.push_back(step); },
      [&](const events::Resumed&) { wakes = true; },
      [&](const events::Completed&) { why = agui_error_of({}).message; },
      [&](const events::Failed& failed) { why = agui_error_of(failed).message; },
      [&](const events::Cancelled& cancelled) { why = agui_error_of(cancelled).message; },
      // No segment is there to show these.
      model::Ignores<events::Accepted, events::Started, events::Text, events::Reasoning, events::Filler, events::Log,
                     events::UsageSum, events::Output, events::File, events::Diff, events::Custom, events::Queued,
                     events::Gate, events::Egress, events::Checkpoint, events::Replaced, events::Call, events::Subagent,
                     events::SubagentText, events::Mark, events::Unreadable>{},
  });
  if (!wakes && !why) return false;
  begin_segment();
  write_late_steps(why.has_value());
  if (why) calls_.give_up(*why);
  return why.has_value();
}

// Where the run has ended, its own words say why a call failed.
void AguiProjector::write_late_steps(bool is_end) {
  for (const auto& step : std::exchange(late_steps_, {})) {
    if (!is_end || step.status != events::StepStatus::failed) calls_.write_step(step);
  }
}

// So that the same run can be found elsewhere.
void AguiProjector::write_conversation() {
  custom("sluice.conversation", [&](json::Writer& writer) {
    writer.begin_object().key("conversationId").string(run_.conversation_id.text());
    writer.key("messageId").string(run_.message_id.text()).key("runId").string(run_.id.text()).end_object();
  });
}

// ── what happens ──

void AguiProjector::show(const journal::Committed& news) {
  const auto& body = news.event().body;
  news.visit(model::Visitor{
      [&](const events::Text& text) { say(text.text); },
      [&](const events::Reasoning& reasoning) { voices().think(voices().agent(), reasoning.text); },
      [&](const events::Filler& filler) {
        custom("sluice.filler",
               [&](json::Writer& writer) { writer.begin_object().key("text").string(filler.text).end_object(); });
      },
      [&](const events::Started&) { write_conversation(); },
      [&](const events::Completed& completed) { complete(completed); },
      [&](const events::Failed& failed) { fail_run(failed); },
      [&](const events::Cancelled& cancelled) { cancel_run(cancelled); },
      [&](const events::Step& step) { calls_.write_step(step); },
      [&](const events::Call& call) { calls_.write_call(call); },
      [&](const events::Output& output) { show_output(output); },
      [&](const events::File&) { custom_as_it_is("sandbox.file", body); },
      [&](const events::Diff& diff) { show_diff(diff); },
      [&](const events::Custom& event) { show_custom(event); },
      [&](const events::Queued& queued) { show_queued(queued); },
      [&](const events::Gate& gate) { park(gate); },
      [&](const events::Egress&) { custom_as_it_is("sluice.egress", body); },
      [&](const events::Log& log) { show_log(log, body); },
      [&](const events::UsageSum& usage) {
        usage_.set(usage.input_tokens, usage.output_tokens);
        if (!usage.model.empty()) usage_.set_model(usage.model);
      },
      [&](const events::Replaced& replaced) { take_back(replaced); },
      [&](const events::Subagent& subagent) { show_subagent(subagent); },
      [&](const events::SubagentText& text) { show_subagent_text(text); },
      // Segments are begun by what these mean, or they are no client's business.
      model::Ignores<events::Accepted, events::Resumed, events::Answers, events::Checkpoint, events::Mark,
                     events::Unreadable>{},
  });
}

// The break between two rounds' texts is not part of any message.
void AguiProjector::say(std::string_view text) {
  auto& agent = voices().agent();
  const bool is_break = agent.text.empty() && has_answered_ && text.find_first_not_of('\n') == std::string_view::npos;
  if (is_break) return voices().transcript().add_gap(text.size());
  has_answered_ = true;
  voices().say(agent, text);
}

// Phases of a sandbox's life are steps that are over when they are reported.
void AguiProjector::show_log(const events::Log& log, const std::string& body) {
  if (log.phase.empty()) return custom_as_it_is("sluice.log", body);
  const auto times = ++phases_[log.phase];
  const auto phase = times > 1 ? log.phase + " " + std::to_string(times) : log.phase;
  for (const auto type : {AguiType::step_started, AguiType::step_finished}) {
    frames().write({type, phase}, [&](json::Writer& writer) { writer.key("stepName").string(phase); });
  }
}

void AguiProjector::show_output(const events::Output& output) {
  const auto* lane = voices().lane_of(output.subagent);
  if (lane == nullptr || !voices().shows(lane->owner)) return;
  custom("sluice.tool-output", [&](json::Writer& writer) {
    writer.begin_object().key("toolCallId").string(call_id_of(run_, output.id));
    writer.key("stream").string(output.stream).key("text").string(output.text).end_object();
  });
}

void AguiProjector::show_diff(const events::Diff& event) {
  const auto shown = std::string_view(event.diff).substr(0, utf8_prefix_size(event.diff, agui_content_bytes_max));
  custom("file.changed", [&](json::Writer& writer) {
    writer.begin_object().key("path").string(event.path).key("diff").string(shown);
    if (shown.size() < event.diff.size()) writer.key("truncated").boolean(true);
    writer.end_object();
  });
}

// Names without a prefix are the protocol's own; TanStack's client even acts on some of them.
void AguiProjector::show_custom(const events::Custom& event) {
  const bool has_prefix = event.name.find_first_of(".:/") != std::string::npos;
  custom_as_it_is(has_prefix ? event.name : "custom." + event.name,
                  event.value.is_missing() ? "null" : event.value.text);
}

void AguiProjector::custom_as_it_is(std::string_view name, std::string_view value) {
  const auto document = json::Document::parse(value);
  if (!document) return;
  custom(name, [&](json::Writer& writer) { writer.raw(document.value().root().to_text()); });
}

void AguiProjector::show_queued(const events::Queued& queued) {
  custom("sluice.queued", [&](json::Writer& writer) {
    writer.begin_object();
    if (queued.position) writer.key("position").integer(*queued.position);
    if (queued.retry_hint_seconds) writer.key("retryHintSeconds").integer(*queued.retry_hint_seconds);
    writer.end_object();
  });
}

// Clients of before 1.0 are shown subagents by CUSTOM events.
void AguiProjector::show_subagent(const events::Subagent& event) {
  if (event.id.empty()) return;
  const auto* subagent = voices().begin(event);
  if (subagent == nullptr) return;
  const auto error = event.error.value_or("");
  if (frames().peer() != AguiPeer::current) {
    custom("sluice.subagent", [&](json::Writer& writer) {
      writer.begin_object().key("subagentRunId").string(event.id).key("name").string(subagent->name);
      writer.key("status").string(model::name_of(event.status));
      if (!subagent->step.empty()) writer.key("toolCallId").string(call_id_of(run_, subagent->step));
      if (!error.empty()) writer.key("error").string(error);
      writer.end_object();
    });
  }
  if (event.status == events::SubagentStatus::finished) end_subagent(event.id, Ending::done, {});
  if (event.status != events::SubagentStatus::failed) return;
  end_subagent(event.id, Ending::broken, error.empty() ? "The subagent failed." : error);
}

void AguiProjector::show_subagent_text(const events::SubagentText& event) {
  if (event.id.empty()) return;
  auto* lane = voices().lane_of(event.id);
  if (lane == nullptr) return;
  const auto text = event.text.value_or("");
  const auto thoughts = event.reasoning.value_or("");
  voices().say(*lane, text);
  voices().think(*lane, thoughts);
  if (frames().peer() == AguiPeer::current || (text.empty() && thoughts.empty())) return;
  custom("sluice.subagent", [&](json::Writer& writer) {
    writer.begin_object().key("subagentRunId").string(event.id);
    writer.key(text.empty() ? "reasoning" : "text").string(text.empty() ? thoughts : text).end_object();
  });
}

// What a client has been sent cannot be taken back piece by piece: it gets all messages as they are now.
void AguiProjector::take_back(const events::Replaced& replaced) {
  voices().close(voices().agent());
  voices().agent().round.clear();
  calls_.take_back();
  const auto bytes = replaced.kept_bytes.value_or(0);
  const auto last = voices().transcript().keep_words(static_cast<std::size_t>(std::max<int64_t>(bytes, 0)));
  custom("sluice.replaced", [&](json::Writer& writer) {
    writer.begin_object();
    if (!last.empty()) writer.key("messageId").string(last);
    writer.key("keptBytes").integer(bytes).end_object();
  });
  write_snapshot();
}

// ── ends ──

void AguiProjector::end_subagent(const std::string& id, Ending ending, std::string_view error) {
  calls_.end_calls_of(id);
  voices().end_subagent(id, ending, error);
}

void AguiProjector::close_everything(Ending ending) {
  for (const auto& id : voices().begun_subagents()) {
    end_subagent(id, ending, "The run ended before the subagent did.");
  }
  calls_.end_calls();
  voices().close(voices().agent());
}

void AguiProjector::park(const events::Gate& gate) {
  for (const auto& item : gate.items) {
    if (item.call) calls_.write_whole(*item.call);
  }
  close_everything(Ending::parked);
  custom("sluice.approval-required",
         [&](json::Writer& writer) { writer.begin_object().key("approval").raw(gate.approval.text).end_object(); });
  is_parked_ = true;
  if (!gate.items.empty() && std::ranges::all_of(gate.items, is_of_client)) return leave_to_client(gate.items);
  const auto outcome = approval_outcome(gate, run_, run_id_);
  interrupts_ = interrupts_in(outcome);
  write_snapshot();
  const bool has_call = std::ranges::any_of(gate.items, [](const auto& item) { return item.call.has_value(); });
  finish(outcome, has_call ? "tool_calls" : "stop");
}

// A client of 1.0 sees by itself which of its tools are called; TanStack's carries them out only when it is asked to.
void AguiProjector::leave_to_client(const Items& items) {
  if (frames().peer() == AguiPeer::tanstack) {
    const auto outcome = client_tools_outcome(items, run_, run_id_);
    interrupts_ = interrupts_in(outcome);
    write_snapshot();
    return finish(outcome, "tool_calls");
  }
  if (frames().peer() == AguiPeer::old) return finish(agui_success, {});
  std::string outcome;
  json::Writer writer(outcome);
  writer.begin_object().key("type").string("success").key("pendingToolCallIds").begin_array();
  for (const auto& item : items) {
    if (const auto id = calls_.leave_to_client(item.call->id); !id.empty()) writer.string(id);
  }
  writer.end_array().end_object();
  finish(outcome, {});
}

void AguiProjector::complete(const events::Completed& completed) {
  close_everything(Ending::done);
  // The finished message has the usage too, also of a run whose model was asked only once.
  if (completed.usage) usage_.set(completed.usage->input_tokens, completed.usage->output_tokens);
  finish(agui_success, "stop");
}

void AguiProjector::fail_run(const events::Failed& failed) {
  close_everything(Ending::broken);
  const auto error = agui_error_of(failed);
  if (segment_ == 0 || error.code != "approval-denied") return fail(error.code, error.message);
  // A human chose it; and after RUN_ERROR clients wait on for an answer, and take no other message.
  custom("sluice.problem", [&](json::Writer& writer) { writer.raw(failed.problem); });
  finish(agui_success, "stop");
}

void AguiProjector::cancel_run(const events::Cancelled& cancelled) {
  close_everything(Ending::broken);
  // Other clients than those of 1.0 refuse the word, and it must not look like success.
  if (frames().peer() == AguiPeer::current) return finish(R"({"type":"cancelled"})", {});
  fail("cancelled", agui_error_of(cancelled).message);
}

void AguiProjector::fail(std::string_view code, std::string_view message) {
  frames().write({AguiType::run_error, run_id_}, [&](json::Writer& writer) {
    writer.key("message").string(message).key("code").string(code);
    usage_.append(writer);
    if (frames().peer() != AguiPeer::tanstack) return;
    writer.key("metadata").begin_object().key("tanstack").begin_object();
    writer.key("threadId").string(thread_id_).key("runId").string(run_id_).end_object().end_object();
  });
}

void AguiProjector::finish(std::string_view outcome, std::string_view finish_reason) {
  frames().write({AguiType::run_finished, run_id_}, [&](json::Writer& writer) {
    writer.key("threadId").string(thread_id_).key("runId").string(run_id_).key("outcome").raw(outcome);
    usage_.append(writer);
    // Without it TanStack's client may call the agent again by itself after a tool's result.
    if (frames().peer() != AguiPeer::tanstack) return;
    writer.key("metadata").begin_object().key("tanstack").begin_object().key("finishReason").string(finish_reason);
    if (!usage_.model().empty()) writer.key("model").string(usage_.model());
    writer.end_object().end_object();
  });
}

void AguiProjector::Usage::set(int64_t input_tokens, int64_t output_tokens) {
  input_ = std::max<int64_t>(input_tokens, 0);
  output_ = std::max<int64_t>(output_tokens, 0);
}

void AguiProjector::Usage::append(json::Writer& writer) const {
  const auto input = std::max<int64_t>(input_ - input_before_, 0);
  const auto output = std::max<int64_t>(output_ - output_before_, 0);
  if (input + output == 0) return;
  writer.key("usage").begin_array().begin_object();
  if (!model_.empty()) writer.key("model").string(model_);
  if (input > 0) writer.key("inputTokens").integer(input);
  if (output > 0) writer.key("outputTokens").integer(output);
  writer.key("totalTokens").integer(input + output).end_object().end_array();
}

// A client drops messages that a snapshot does not have: there is none of a thread whose messages are not known.
void AguiProjector::write_snapshot() {
  if (!has_client_) return;
  std::string messages = client_messages_;
  std::string own;
  transcript().append_json(own, frames().peer() == AguiPeer::current);
  if (!messages.empty() && !own.empty()) messages += ',';
  messages += own;
  if (messages.size() > snapshot_bytes_max) return;
  frames().write({AguiType::messages_snapshot, "messages"},
                 [&](json::Writer& writer) { writer.key("messages").begin_array().raw(messages).end_array(); });
}

}  // namespace sluice::wire
