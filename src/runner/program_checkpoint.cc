#include "runner/program_checkpoint.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "model/json.h"

namespace sluice::runner {
namespace {

constexpr int64_t layout_of_programs = 1;
constexpr std::array<std::string_view, 3> asked_names = {"leave", "answer", "client"};

void write_names(json::Writer& writer, std::string_view key, const std::vector<std::string>& names) {
  writer.key(key).begin_array();
  for (const auto& name : names) writer.string(name);
  writer.end_array();
}

void write_asked(json::Writer& writer, const std::vector<AskedCall>& calls) {
  writer.key("asked").begin_array();
  for (const auto& call : calls) {
    writer.begin_object().key("asked").string(asked_names[static_cast<std::size_t>(call.asked)]);
    writer.key("step_id").string(call.step_id).key("name").string(call.name).key("arguments").string(call.arguments);
    writer.key("items");
    model::append_items(writer, call.items);
    writer.end_object();
  }
  writer.end_array();
}

void write_decided(json::Writer& writer, const std::vector<DecidedCall>& calls) {
  writer.key("decided").begin_array();
  for (const auto& call : calls) {
    writer.begin_object().key("name").string(call.name).key("arguments").string(call.arguments);
    if (call.answer) writer.key("answer").string(call.answer->text).key("failed").boolean(call.answer->failed);
    writer.end_object();
  }
  writer.end_array();
}

void write_steps(json::Writer& writer, const std::vector<OpenStep>& steps) {
  writer.key("steps").begin_array();
  for (const auto& step : steps) {
    writer.begin_object().key("id").string(step.id).key("name").string(step.name);
    writer.key("arguments").string(step.arguments).key("subagent").string(step.subagent);
    writer.key("used_ms").integer(step.used_ms).end_object();
  }
  writer.end_array();
}

void write_hands(json::Writer& writer, const HandsState& hands) {
  writer.key("hands").begin_object();
  write_names(writer, "parked_layers", hands.parked_layers);
  writer.key("instructions").string(hands.instructions).key("were_open").boolean(hands.were_open);
  write_names(writer, "allowed_hosts", hands.allowed_hosts);
  writer.end_object();
}

// Reads what must be there; notes when something is not.
class Reading {
 public:
  json::Value member(json::Value from, std::string_view name, json::Kind kind) {
    const auto value = from.find(name);
    if (value && value->kind() == kind) return *value;
    blame("its \"" + std::string(name) + "\" is missing or of another kind");
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
  std::vector<AskedCall> asked(json::Value from) {
    std::vector<AskedCall> found;
    member(from, "asked", json::Kind::array).each_element([&](json::Value call) {
      found.push_back({.step_id = text(call, "step_id"),
                       .name = text(call, "name"),
                       .arguments = text(call, "arguments"),
                       .items = model::items_from_json(member(call, "items", json::Kind::array))});
      const auto asked = text(call, "asked");
      std::size_t kind = 0;
      while (kind < asked_names.size() && asked_names[kind] != asked) ++kind;
      if (kind == asked_names.size()) return blame("nobody asks for \"" + asked + "\"");
      found.back().asked = static_cast<ProgramAsked>(kind);
    });
    if (found.empty()) blame("no call waits in it");
    return found;
  }
  std::vector<DecidedCall> decided(json::Value from) {
    std::vector<DecidedCall> found;
    member(from, "decided", json::Kind::array).each_element([&](json::Value call) {
      found.push_back({.name = text(call, "name"), .arguments = text(call, "arguments"), .answer = {}});
      if (call.find("answer")) found.back().answer = ToolAnswer{text(call, "answer"), flag(call, "failed")};
    });
    return found;
  }
  std::vector<OpenStep> steps(json::Value from) {
    std::vector<OpenStep> found;
    member(from, "steps", json::Kind::array).each_element([&](json::Value step) {
      found.push_back({text(step, "id"), text(step, "name"), text(step, "arguments"), text(step, "subagent"),
                       number(step, "used_ms")});
      if (!json::Document::parse(found.back().arguments)) blame("the arguments of a step are no JSON");
    });
    return found;
  }
  void blame(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const std::string& fault() const { return fault_; }

 private:
  std::string fault_;
};

}  // namespace

std::string to_json(const ProgramCheckpoint& checkpoint) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("version").integer(layout_of_programs).key("agent_type").string(checkpoint.agent_type);
  writer.key("session_id").string(checkpoint.session_id).key("is_deferred").boolean(checkpoint.is_deferred);
  write_asked(writer, checkpoint.asked);
  write_decided(writer, checkpoint.decided);
  write_steps(writer, checkpoint.steps);
  write_hands(writer, checkpoint.hands);
  writer.key("step_count").integer(checkpoint.step_count).key("said").string(checkpoint.said);
  writer.key("said_bytes").integer(checkpoint.said_bytes).key("has_spoken").boolean(checkpoint.has_spoken);
  writer.key("filler_count").integer(checkpoint.filler_count);
  writer.key("runtime_used_ms").integer(checkpoint.runtime_used_ms);
  writer.key("input_tokens").integer(checkpoint.usage.input_tokens);
  writer.key("output_tokens").integer(checkpoint.usage.output_tokens).end_object();
  return out;
}

Result<ProgramCheckpoint> program_checkpoint_from_json(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return Error{ErrorKind::corrupt, "it is " + document.error().what};
  const auto root = document.value().root();
  Reading reading;
  if (reading.number(root, "version") != layout_of_programs) {
    return Error{ErrorKind::corrupt, "it was written by another version of this server"};
  }
  const auto hands = reading.member(root, "hands", json::Kind::object);
  ProgramCheckpoint checkpoint{.agent_type = reading.text(root, "agent_type"),
                               .session_id = reading.text(root, "session_id"),
                               .is_deferred = reading.flag(root, "is_deferred"),
                               .asked = reading.asked(root),
                               .decided = reading.decided(root),
                               .steps = reading.steps(root),
                               .hands = {.parked_layers = reading.names(hands, "parked_layers"),
                                         .instructions = reading.text(hands, "instructions"),
                                         .were_open = reading.flag(hands, "were_open"),
                                         .allowed_hosts = reading.names(hands, "allowed_hosts")},
                               .step_count = reading.number(root, "step_count"),
                               .said = reading.text(root, "said"),
                               .said_bytes = reading.number(root, "said_bytes"),
                               .has_spoken = reading.flag(root, "has_spoken"),
                               .filler_count = reading.number(root, "filler_count"),
                               .runtime_used_ms = reading.number(root, "runtime_used_ms"),
                               .usage = {.input_tokens = reading.number(root, "input_tokens"),
                                         .output_tokens = reading.number(root, "output_tokens")}};
  if (!reading.fault().empty()) return Error{ErrorKind::corrupt, reading.fault()};
  return checkpoint;
}

}  // namespace sluice::runner
