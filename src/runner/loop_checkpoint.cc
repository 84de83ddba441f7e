#include "runner/loop_checkpoint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json.h"
#include "model/json.h"

namespace sluice::runner {
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

void write_names(json::Writer& writer, const std::vector<std::string>& names) {
  writer.begin_array();
  for (const auto& name : names) writer.string(name);
  writer.end_array();
}

void write_state(json::Writer& writer, const CallState& state) {
  writer.begin_object().key("results");
  write_results(writer, state.results);
  writer.key("step_id").string(state.step_id).key("step_used_ms").integer(state.step_used_ms);
  writer.key("asked").string(asked_names[static_cast<std::size_t>(state.asked)]).key("items");
  model::append_items(writer, state.items);
  writer.key("host").string(state.host).key("may_run_again").boolean(state.may_run_again);
  writer.key("changed");
  write_names(writer, state.changed);
  writer.end_object();
}

void write_hands(json::Writer& writer, const HandsState& hands) {
  writer.begin_object().key("parked_layers");
  write_names(writer, hands.parked_layers);
  writer.key("instructions").string(hands.instructions).key("were_open").boolean(hands.were_open).key("allowed_hosts");
  write_names(writer, hands.allowed_hosts);
  writer.end_object();
}

bool are_of_calls(const CallState& state) {
  return !state.items.empty() && state.items.size() <= state.calls.size() - state.results.size() &&
         std::ranges::all_of(state.items, [](const auto& item) { return item.call.has_value(); });
}

// Reads what must be there; notes when something is not.
class Reading {
 public:
  json::Value member(json::Value from, std::string_view name, json::Kind kind) {
    const auto value = from.find(name);
    if (value && value->kind() == kind) return *value;
    if (fault_.empty()) fault_ = "its \"" + std::string(name) + "\" is missing or of another kind";
    return {};
  }
  std::string text(json::Value from, std::string_view name) {
    return std::string(member(from, name, json::Kind::string).string().value_or(""));
  }
  int64_t number(json::Value from, std::string_view name) {
    const auto value = member(from, name, json::Kind::integer).integer().value_or(0);
    if (value < 0) blame("its \"" + std::string(name) + "\" is negative");
    return value;
  }
  bool flag(json::Value from, std::string_view name) {
    return member(from, name, json::Kind::boolean).boolean().value_or(false);
  }
  std::vector<std::string> names(json::Value from, std::string_view name) {
    std::vector<std::string> found;
    member(from, name, json::Kind::array).each_element([&](json::Value value) {
      if (!value.string()) return blame("its \"" + std::string(name) + "\" are not all strings");
      found.emplace_back(*value.string());
    });
    return found;
  }

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
  CallState state(json::Value from, const std::vector<models::PromptTurn>& turns) {
    CallState state{.calls = turns.empty() ? std::vector<models::ToolCall>() : turns.back().calls,
                    .results = results(from),
                    .step_id = text(from, "step_id"),
                    .step_used_ms = number(from, "step_used_ms"),
                    .items = model::items_from_json(member(from, "items", json::Kind::array)),
                    .host = text(from, "host"),
                    .may_run_again = flag(from, "may_run_again"),
                    .changed = names(from, "changed")};
    const auto asked = text(from, "asked");
    for (std::size_t i = 0; i < asked_names.size(); ++i) {
      if (asked_names[i] == asked) state.asked = static_cast<Asked>(i);
    }
    if (state.asked == Asked::nothing || state.results.size() >= state.calls.size() || state.step_id.empty()) {
      blame("no call waits in it");
    }
    if (state.asked == Asked::client && !are_of_calls(state)) blame("its items are not those of its calls");
    return state;
  }
  void blame(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const std::string& fault() const { return fault_; }

 private:
  std::string fault_;
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
  write_hands(writer, checkpoint.hands);
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
  Reading reading;
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
  const auto hands = reading.member(root, "hands", json::Kind::object);
  checkpoint.hands = {.parked_layers = reading.names(hands, "parked_layers"),
                      .instructions = reading.text(hands, "instructions"),
                      .were_open = reading.flag(hands, "were_open"),
                      .allowed_hosts = reading.names(hands, "allowed_hosts")};
  if (!reading.fault().empty()) return Error{ErrorKind::corrupt, reading.fault()};
  return checkpoint;
}

}  // namespace sluice::runner
