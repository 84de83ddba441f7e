// How a segment ends: by the run's end, or by its wait for a human, which is an end for an AG-UI client too.
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "wire/agui_fold.h"
#include "wire/agui_teller.h"

namespace sluice::wire {
namespace {

using model::EventKind;
using model::ItemKind;
using Items = std::vector<model::RequestedItem>;

constexpr std::size_t snapshot_bytes_max = std::size_t{8} << 20;  // a client gives up a frame of 10 MiB
constexpr std::string_view success = R"({"type":"success"})";

// What an answer must look like. Members in the order of their names: TanStack's client compares the digest of the
// text that it would write.
constexpr std::string_view decision_schema =
    R"({"properties":{"approved":{"type":"boolean"},"note":{"type":"string"}},"required":["approved"],"type":"object"})";
constexpr std::string_view secrets_schema =
    R"({"properties":{"approved":{"type":"boolean"},"note":{"type":"string"},)"
    R"("secrets":{"additionalProperties":{"type":"string"},"type":"object"}},"required":["approved"],"type":"object"})";

std::string digest(std::string_view text) { return "sha256:" + to_hex(sha256(text)); }

bool is_of_client(const model::RequestedItem& item) { return item.kind == ItemKind::client_tool && item.call; }

// The last part of a problem's type: "approval-denied".
std::string slug_of(std::string_view type) {
  const auto slash = type.rfind('/');
  return std::string(slash == std::string_view::npos ? type : type.substr(slash + 1));
}

struct Words {
  std::string code;
  std::string message;
};

// Of a problem, for people and for programs.
Words words_of(std::string_view problem) {
  Words words;
  if (const auto document = json::Document::parse(problem)) {
    const auto root = document.value().root();
    words.code = slug_of(text_in(root, "type"));
    words.message = text_in(root, "detail");
    if (words.message.empty()) words.message = text_in(root, "title");
  }
  if (words.code.empty()) words.code = "internal";
  if (words.message.empty()) words.message = "The run failed.";
  return words;
}

}  // namespace

void AguiTeller::close_everything(Ending ending) {
  for (auto& [id, subagent] : subagents_) {
    if (subagent.is_told) end_subagent(subagent, ending, "The run ended before the subagent did.");
  }
  for (auto& [id, call] : calls_) {
    if (call.is_open) end_call(id, call);
  }
  close(main_);
}

// ── waiting for a human ──

void AguiTeller::park(json::Value approval) {
  const auto requested = approval.find("requested_items");
  const auto items = requested ? model::items_from_json(*requested) : Items{};
  for (const auto& item : items) {
    if (item.call) tell_whole_call(*item.call);
  }
  close_everything(Ending::parked);
  custom("sluice.approval-required",
         [&](json::Writer& writer) { writer.begin_object().key("approval").raw(approval.to_text()).end_object(); });
  const bool is_clients = !items.empty() && std::all_of(items.begin(), items.end(), is_of_client);
  is_clients ? leave_to_client(items) : interrupt(approval, items);
  is_parked_ = true;
}

void AguiTeller::tell_late_steps(bool is_end) {
  for (const auto& step : std::exchange(late_steps_, {})) {
    const auto body = json::Document::parse(step);
    if (!body || (is_end && text_in(body.value().root(), "status") == "failed")) continue;
    tell_step(body.value().root());
  }
}

void AguiTeller::give_up_calls(std::string_view problem) {
  const auto words = words_of(problem);
  for (auto& [id, call] : calls_) {
    if (call.is_taken_back || call.is_answered) continue;
    if (call.is_open) end_call(id, call);
    answer(id, call, words.message, true);
  }
}

// The elements of the list in an outcome.
std::string AguiTeller::interrupts_in(std::string_view outcome) {
  constexpr std::string_view head = R"({"type":"interrupt","interrupts":[)";
  constexpr std::string_view tail = "]}";
  SLUICE_CHECK(outcome.starts_with(head) && outcome.ends_with(tail));
  return std::string(outcome.substr(head.size(), outcome.size() - head.size() - tail.size()));
}

void AguiTeller::interrupt(json::Value approval, const Items& items) {
  const auto id = text_in(approval, "id");
  const auto call = std::find_if(items.begin(), items.end(), [](const auto& item) { return item.call.has_value(); });
  const bool asks_secret =
      std::any_of(items.begin(), items.end(), [](const auto& item) { return item.kind == ItemKind::secret; });
  const auto schema = asks_secret ? secrets_schema : decision_schema;
  const auto expires_at = text_in(approval, "expires_at");

  std::string outcome;
  json::Writer writer(outcome);
  writer.begin_object().key("type").string("interrupt").key("interrupts").begin_array().begin_object();
  writer.key("id").string(id).key("reason");
  if (call != items.end()) {
    writer.string("tool_call").key("toolCallId").string(call_id_of(run_, call->call->id));
  } else {
    writer.string(asks_secret ? "input_required" : "confirmation");
  }
  writer.key("message").string(text_in(approval, "reason")).key("responseSchema").raw(schema);
  if (!expires_at.empty()) writer.key("expiresAt").string(expires_at);
  writer.key("metadata").begin_object();
  writer.key("sluice").begin_object().key("approval").raw(approval.to_text()).end_object();
  writer.key("tanstack:interruptBinding").begin_object().key("v").integer(1).key("kind").string("generic");
  writer.key("interruptId").string(id).key("interruptedRunId").string(run_id_).key("generation").integer(0);
  writer.key("responseSchemaHash").string(digest(schema)).end_object();
  writer.end_object().end_object().end_array().end_object();
  interrupts_ = interrupts_in(outcome);
  tell_snapshot();
  finish(outcome, call != items.end() ? "tool_calls" : "stop");
}

// A client of 1.0 sees by itself which of its tools are called; TanStack's carries them out only when it is asked to.
void AguiTeller::leave_to_client(const Items& items) {
  if (writer_.peer() == AguiPeer::tanstack) {
    const auto outcome = client_tool_interrupts(items);
    interrupts_ = interrupts_in(outcome);
    tell_snapshot();
    return finish(outcome, "tool_calls");
  }
  if (writer_.peer() == AguiPeer::old) return finish(success, {});
  std::string outcome;
  json::Writer writer(outcome);
  writer.begin_object().key("type").string("success").key("pendingToolCallIds").begin_array();
  for (const auto& item : items) {
    const auto call = calls_.find(call_id_of(run_, item.call->id));
    // One that has its answer is left to nobody.
    if (call == calls_.end() || call->second.is_answered) continue;
    if (writer_.leave(call->first)) writer.string(call->first);
  }
  writer.end_array().end_object();
  finish(outcome, {});
}

std::string AguiTeller::client_tool_interrupts(const Items& items) const {
  std::string outcome;
  json::Writer writer(outcome);
  writer.begin_object().key("type").string("interrupt").key("interrupts").begin_array();
  for (const auto& item : items) {
    const auto call_id = call_id_of(run_, item.call->id);
    const auto id = "client_tool_" + call_id;
    const auto input = json::Document::parse(item.call->arguments);
    writer.begin_object().key("id").string(id).key("reason").string("tanstack:client_tool_execution");
    writer.key("toolCallId").string(call_id).key("responseSchema").raw("{}").key("metadata").begin_object();
    writer.key("kind").string("client_tool").key("toolName").string(item.call->name);
    writer.key("input").raw(input ? input.value().root().to_text() : "{}");
    writer.key("tanstack:interruptBinding").begin_object().key("v").integer(1);
    writer.key("kind").string("client-tool-execution").key("interruptId").string(id);
    writer.key("interruptedRunId").string(run_id_).key("generation").integer(0);
    writer.key("toolName").string(item.call->name).key("toolCallId").string(call_id);
    // What the tool answers is not part of what clients tell of it.
    writer.key("outputSchemaHash").string(digest("undefined")).key("responseSchemaHash").string(digest("{}"));
    writer.end_object().end_object().end_object();
  }
  writer.end_array().end_object();
  return outcome;
}

// ── the run's end ──

void AguiTeller::end_run(EventKind kind, std::string_view body) {
  close_everything(kind == EventKind::completed ? Ending::done : Ending::broken);
  if (kind == EventKind::completed) {
    // The finished message says it too, also of a run whose model was asked only once.
    if (const auto message = json::Document::parse(body)) {
      if (const auto usage = message.value().root().find("usage"); usage && !usage->is_null()) note_usage(*usage);
    }
    return finish(success, "stop");
  }
  // Others than clients of 1.0 refuse the word, and it must not look like success.
  if (kind == EventKind::cancelled && writer_.peer() == AguiPeer::current) return finish(R"({"type":"cancelled"})", {});

  const auto words = words_of(body);
  if (kind == EventKind::cancelled) return fail("cancelled", words.message);
  // A human chose it; and after RUN_ERROR clients wait on for an answer, and take no other message.
  if (segment_ > 0 && words.code == "approval-denied") {
    custom("sluice.problem", [&](json::Writer& writer) { writer.raw(body); });
    return finish(success, "stop");
  }
  fail(words.code, words.message);
}

void AguiTeller::fail(std::string_view code, std::string_view message) {
  writer_.tell({AguiType::run_error, run_id_}, [&](json::Writer& writer) {
    writer.key("message").string(message).key("code").string(code);
    append_usage(writer);
    if (writer_.peer() != AguiPeer::tanstack) return;
    writer.key("metadata").begin_object().key("tanstack").begin_object();
    writer.key("threadId").string(thread_id_).key("runId").string(run_id_).end_object().end_object();
  });
}

void AguiTeller::finish(std::string_view outcome, std::string_view finish_reason) {
  writer_.tell({AguiType::run_finished, run_id_}, [&](json::Writer& writer) {
    writer.key("threadId").string(thread_id_).key("runId").string(run_id_).key("outcome").raw(outcome);
    append_usage(writer);
    // Without it TanStack's client may go on by itself after a tool's result.
    if (writer_.peer() != AguiPeer::tanstack) return;
    writer.key("metadata").begin_object().key("tanstack").begin_object().key("finishReason").string(finish_reason);
    if (!usage_.model.empty()) writer.key("model").string(usage_.model);
    writer.end_object().end_object();
  });
}

// Of this segment; nothing where nothing is known.
void AguiTeller::append_usage(json::Writer& writer) const {
  const auto input = std::max<int64_t>(usage_.input - usage_before_.input, 0);
  const auto output = std::max<int64_t>(usage_.output - usage_before_.output, 0);
  if (input + output == 0) return;
  writer.key("usage").begin_array().begin_object();
  if (!usage_.model.empty()) writer.key("model").string(usage_.model);
  if (input > 0) writer.key("inputTokens").integer(input);
  if (output > 0) writer.key("outputTokens").integer(output);
  writer.key("totalTokens").integer(input + output).end_object().end_array();
}

// A client drops what a snapshot does not have: of a thread whose messages are not known there is none.
void AguiTeller::tell_snapshot() {
  if (!has_client_) return;
  std::string messages = client_messages_;
  std::string own;
  transcript_.append_json(own, writer_.peer() == AguiPeer::current);
  if (!messages.empty() && !own.empty()) messages += ',';
  messages += own;
  if (messages.size() > snapshot_bytes_max) return;
  writer_.tell({AguiType::messages_snapshot, "messages"},
               [&](json::Writer& writer) { writer.key("messages").begin_array().raw(messages).end_array(); });
}

}  // namespace sluice::wire
