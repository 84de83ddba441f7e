#include "wire/agui_outcomes.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "wire/agui_call_ids.h"

namespace sluice::wire {
namespace {

using model::ItemKind;

// What an answer must look like. Members in the order of their names: TanStack's client compares the digest of the
// text that it would write.
constexpr std::string_view decision_schema =
    R"({"properties":{"approved":{"type":"boolean"},"note":{"type":"string"}},"required":["approved"],"type":"object"})";
constexpr std::string_view secrets_schema =
    R"({"properties":{"approved":{"type":"boolean"},"note":{"type":"string"},)"
    R"("secrets":{"additionalProperties":{"type":"string"},"type":"object"}},"required":["approved"],"type":"object"})";

std::string digest(std::string_view text) { return "sha256:" + to_hex(sha256(text)); }

}  // namespace

AguiError agui_error_of(const model::events::EndProblem& problem) {
  return {problem.code.empty() ? "internal" : problem.code,
          problem.words().empty() ? "The run failed." : problem.words()};
}

std::string approval_outcome(const model::events::Gate& gate, const model::Run& run, std::string_view run_id) {
  const auto call = std::ranges::find_if(gate.items, [](const auto& item) { return item.call.has_value(); });
  const bool asks_secret =
      std::ranges::any_of(gate.items, [](const auto& item) { return item.kind == ItemKind::secret; });
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

std::string interrupts_in(std::string_view outcome) {
  constexpr std::string_view head = R"({"type":"interrupt","interrupts":[)";
  constexpr std::string_view tail = "]}";
  SLUICE_CHECK(outcome.starts_with(head) && outcome.ends_with(tail));
  return std::string(outcome.substr(head.size(), outcome.size() - head.size() - tail.size()));
}

}  // namespace sluice::wire
