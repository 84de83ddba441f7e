// Subagents: as they are for clients of AG-UI 1.0; others would take their words for the agent's own, and are told of
// them by CUSTOM events.
#include "wire/agui_fold.h"
#include "wire/agui_teller.h"

namespace sluice::wire {

AguiTeller::Lane* AguiTeller::lane_of(json::Value body) {
  const auto id = text_in(body, "subagent");
  if (id.empty()) return &main_;
  auto* subagent = subagent_named(id);
  return subagent == nullptr ? nullptr : &subagent->lane;
}

AguiTeller::Subagent* AguiTeller::subagent_named(std::string_view id) {
  auto known = subagents_.find(id);
  if (known == subagents_.end()) {
    known = subagents_.emplace(id, Subagent{}).first;
    known->second.lane.owner = id;
  }
  if (known->second.is_done) return nullptr;
  rouse(known->second);
  return &known->second;
}

bool AguiTeller::tells_of(std::string_view owner) const {
  if (owner.empty()) return true;
  const auto subagent = subagents_.find(owner);
  return writer_.peer() == AguiPeer::current && subagent != subagents_.end() && subagent->second.is_told &&
         !subagent->second.is_done;
}

void AguiTeller::rouse(Subagent& subagent) {
  if (std::exchange(subagent.is_told, true) || writer_.peer() != AguiPeer::current) return;
  const auto& id = subagent.lane.owner;
  writer_.tell({AguiType::subagent_started, id}, [&](json::Writer& writer) {
    writer.key("subagentRunId").string(id).key("name").string(subagent.name);
    if (!subagent.step.empty()) writer.key("parentToolCallId").string(call_id_of(run_, subagent.step));
  });
}

void AguiTeller::tell_subagent(json::Value body) {
  const auto id = text_in(body, "id");
  if (id.empty()) return;
  if (!subagents_.contains(id)) {
    auto& made = subagents_[id];
    made.lane.owner = id;
    if (auto name = text_in(body, "name"); !name.empty()) made.name = std::move(name);
    made.step = text_in(body, "step_id");
  }
  auto* subagent = subagent_named(id);
  if (subagent == nullptr) return;
  const auto status = text_in(body, "status");
  const auto error = text_in(body, "error");
  if (writer_.peer() != AguiPeer::current) {
    custom("sluice.subagent", [&](json::Writer& writer) {
      writer.begin_object().key("subagentRunId").string(id).key("name").string(subagent->name);
      writer.key("status").string(status);
      if (!subagent->step.empty()) writer.key("toolCallId").string(call_id_of(run_, subagent->step));
      if (!error.empty()) writer.key("error").string(error);
      writer.end_object();
    });
  }
  if (status == "finished") end_subagent(*subagent, Ending::done, {});
  if (status == "failed") end_subagent(*subagent, Ending::broken, error.empty() ? "The subagent failed." : error);
}

void AguiTeller::tell_subagent_text(json::Value body) {
  const auto id = text_in(body, "id");
  if (id.empty()) return;
  auto* subagent = subagent_named(id);
  if (subagent == nullptr) return;
  const auto text = text_in(body, "text");
  const auto thoughts = text_in(body, "reasoning");
  say(subagent->lane, text);
  think(subagent->lane, thoughts);
  if (writer_.peer() == AguiPeer::current || (text.empty() && thoughts.empty())) return;
  custom("sluice.subagent", [&](json::Writer& writer) {
    writer.begin_object().key("subagentRunId").string(id);
    writer.key(text.empty() ? "reasoning" : "text").string(text.empty() ? thoughts : text).end_object();
  });
}

void AguiTeller::end_subagent(Subagent& subagent, Ending ending, std::string_view error) {
  const auto& id = subagent.lane.owner;
  for (auto& [call_id, call] : calls_) {
    if (call.is_open && call.owner == id) end_call(call_id, call);
  }
  close(subagent.lane);
  subagent.lane.round.clear();
  if (tells_of(id)) {
    const auto type = ending == Ending::broken ? AguiType::subagent_error : AguiType::subagent_finished;
    writer_.tell({type, id}, [&](json::Writer& writer) {
      writer.key("subagentRunId").string(id);
      if (ending == Ending::broken) writer.key("message").string(error);
      if (ending == Ending::done) writer.key("outcome").begin_object().key("type").string("success").end_object();
      if (ending == Ending::parked) writer.key("outcome").begin_object().key("type").string("suspended").end_object();
    });
  }
  subagent.is_told = false;
  subagent.is_done = ending != Ending::parked;
}

}  // namespace sluice::wire
