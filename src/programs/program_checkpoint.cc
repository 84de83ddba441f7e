#include "programs/program_checkpoint.h"

#include <array>
#include <utility>

#include "agents/agents.h"
#include "base/json.h"
#include "model/json.h"

namespace sluice::programs {
namespace {

constexpr int64_t layout_of_programs = 1;
constexpr std::array<std::string_view, 3> asked_names = {"leave", "answer", "client"};

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

class ProgramReader : public agents::CheckpointReader {
 public:
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
      if (kind == asked_names.size()) return blame("there is no question for \"" + asked + "\"");
      found.back().asked = static_cast<ProgramAsked>(kind);
    });
    if (found.empty()) blame("no call waits in it");
    return found;
  }
  std::vector<DecidedCall> decided(json::Value from) {
    std::vector<DecidedCall> found;
    member(from, "decided", json::Kind::array).each_element([&](json::Value call) {
      found.push_back({.name = text(call, "name"), .arguments = text(call, "arguments"), .answer = {}});
      if (call.find("answer")) found.back().answer = runs::ToolAnswer{text(call, "answer"), flag(call, "failed")};
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
  agents::write_session(writer.key("hands"), checkpoint.session);
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
  ProgramReader reading;
  if (reading.number(root, "version") != layout_of_programs) {
    return Error{ErrorKind::corrupt, "it was written by another version of this server"};
  }
  ProgramCheckpoint checkpoint{.agent_type = reading.text(root, "agent_type"),
                               .session_id = reading.text(root, "session_id"),
                               .is_deferred = reading.flag(root, "is_deferred"),
                               .asked = reading.asked(root),
                               .decided = reading.decided(root),
                               .steps = reading.steps(root),
                               .session = reading.session(root),
                               .step_count = reading.number(root, "step_count"),
                               .said = reading.text(root, "said"),
                               .said_bytes = reading.number(root, "said_bytes"),
                               .has_spoken = reading.flag(root, "has_spoken"),
                               .filler_count = reading.number(root, "filler_count"),
                               .runtime_used_ms = reading.number(root, "runtime_used_ms"),
                               .usage = {.input_tokens = reading.number(root, "input_tokens"),
                                         .output_tokens = reading.number(root, "output_tokens")}};
  if (auto verdict = reading.verdict(); !verdict) return std::move(verdict.error());
  return checkpoint;
}

}  // namespace sluice::programs
