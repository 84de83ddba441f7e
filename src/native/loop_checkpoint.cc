#include "native/loop_checkpoint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "agents/agents.h"
#include "base/json.h"
#include "model/json.h"

namespace sluice::native {
namespace {

constexpr int64_t layout_of_loops = 1;

constexpr std::array<std::string_view, 6> asked_names = {"nothing", "leave", "answer", "secret", "passage", "client"};

void write_calls(json::Writer& writer, const std::vector<models::ToolCall>& calls) {
  writer.begin_array();
  for (const auto& call : calls) {
    writer.begin_object().key("id").string(call.id).key("name").string(call.name);
    writer.key("arguments").string(call.arguments).end_object();
  }
  writer.end_array();
}

void write_results(json::Writer& writer, const std::vector<models::ToolResult>& results) {
  writer.begin_array();
  for (const auto& result : results) {
    writer.begin_object().key("call_id").string(result.call_id).key("text").string(result.text);
    writer.key("failed").boolean(result.failed).end_object();
  }
  writer.end_array();
}

void write_turns(json::Writer& writer, const std::vector<models::PromptTurn>& turns) {
  writer.begin_array();
  for (const auto& turn : turns) {
    writer.begin_object().key("is_assistant").boolean(turn.role == model::Role::assistant);
    writer.key("text").string(turn.text).key("calls");
    write_calls(writer, turn.calls);
    writer.key("results");
    write_results(writer, turn.results);
    writer.end_object();
  }
  writer.end_array();
}

void write_state(json::Writer& writer, const tools::CallState& state) {
  writer.begin_object().key("results");
  write_results(writer, state.results);
  writer.key("step_id").string(state.step_id).key("step_used_ms").integer(state.step_used_ms);
  writer.key("asked").string(asked_names[static_cast<std::size_t>(state.asked)]).key("items");
  model::append_items(writer, state.items);
  writer.key("host").string(state.host).key("may_run_again").boolean(state.may_run_again);
  writer.key("changed");
  agents::write_names(writer, state.changed);
  writer.end_object();
}

bool are_of_calls(const tools::CallState& state) {
  return !state.items.empty() && state.items.size() <= state.calls.size() - state.results.size() &&
         std::ranges::all_of(state.items, [](const auto& item) { return item.call.has_value(); });
}

class LoopReader : public agents::CheckpointReader {
 public:
  std::vector<models::ToolCall> calls(json::Value from) {
    std::vector<models::ToolCall> found;
    member(from, "calls", json::Kind::array).each_element([&](json::Value call) {
      found.push_back({text(call, "id"), text(call, "name"), text(call, "arguments")});
    });
    return found;
  }
  std::vector<models::ToolResult> results(json::Value from) {
    std::vector<models::ToolResult> found;
    member(from, "results", json::Kind::array).each_element([&](json::Value result) {
      found.push_back({text(result, "call_id"), text(result, "text"), flag(result, "failed")});
    });
    return found;
  }
  std::vector<models::PromptTurn> turns(json::Value from) {
    std::vector<models::PromptTurn> found;
    member(from, "turns", json::Kind::array).each_element([&](json::Value turn) {
      const auto role = flag(turn, "is_assistant") ? model::Role::assistant : model::Role::user;
      found.push_back({.role = role, .text = text(turn, "text"), .calls = calls(turn), .results = results(turn)});
    });
    return found;
  }
  tools::CallState state(json::Value from, const std::vector<models::PromptTurn>& turns) {
    tools::CallState state{.calls = turns.empty() ? std::vector<models::ToolCall>() : turns.back().calls,
                           .results = results(from),
                           .step_id = text(from, "step_id"),
                           .step_used_ms = number(from, "step_used_ms"),
                           .items = model::items_from_json(member(from, "items", json::Kind::array)),
                           .host = text(from, "host"),
                           .may_run_again = flag(from, "may_run_again"),
                           .changed = names(from, "changed")};
    const auto asked = text(from, "asked");
    for (std::size_t i = 0; i < asked_names.size(); ++i) {
      if (asked_names[i] == asked) state.asked = static_cast<tools::Asked>(i);
    }
    if (state.asked == tools::Asked::nothing || state.results.size() >= state.calls.size() || state.step_id.empty()) {
      blame("no call waits in it");
    }
    if (state.asked == tools::Asked::client && !are_of_calls(state)) blame("its items are not those of its calls");
    return state;
  }
};

}  // namespace

std::string to_json(const LoopCheckpoint& checkpoint) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("version").integer(layout_of_loops).key("turns");
  write_turns(writer, checkpoint.turns);
  writer.key("round");
  write_state(writer, checkpoint.calls);
  writer.key("hands");
  agents::write_session(writer, checkpoint.session);
  writer.key("round_count").integer(checkpoint.round_count).key("step_count").integer(checkpoint.step_count);
  writer.key("said_bytes").integer(checkpoint.said_bytes).key("has_spoken").boolean(checkpoint.has_spoken);
  writer.key("filler_count").integer(checkpoint.filler_count);
  writer.key("runtime_used_ms").integer(checkpoint.runtime_used_ms);
  writer.key("input_tokens").integer(checkpoint.usage.input_tokens);
  writer.key("output_tokens").integer(checkpoint.usage.output_tokens).end_object();
  return out;
}

Result<LoopCheckpoint> checkpoint_from_json(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return Error{ErrorKind::corrupt, "it is " + document.error().what};
  const auto root = document.value().root();
  LoopReader reading;
  if (reading.number(root, "version") != layout_of_loops) {
    return Error{ErrorKind::corrupt, "it was written by another version of this server"};
  }
  LoopCheckpoint checkpoint{.turns = reading.turns(root),
                            .round_count = reading.number(root, "round_count"),
                            .step_count = reading.number(root, "step_count"),
                            .said_bytes = reading.number(root, "said_bytes"),
                            .has_spoken = reading.flag(root, "has_spoken"),
                            .filler_count = reading.number(root, "filler_count"),
                            .runtime_used_ms = reading.number(root, "runtime_used_ms"),
                            .usage = {.input_tokens = reading.number(root, "input_tokens"),
                                      .output_tokens = reading.number(root, "output_tokens")}};
  checkpoint.calls = reading.state(reading.member(root, "round", json::Kind::object), checkpoint.turns);
  checkpoint.session = reading.session(root);
  if (auto verdict = reading.verdict(); !verdict) return std::move(verdict.error());
  return checkpoint;
}

}  // namespace sluice::native
