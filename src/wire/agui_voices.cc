#include "wire/agui_voices.h"

#include <utility>

#include "wire/agui_call_ids.h"

namespace sluice::wire {

void AguiVoices::begin_segment() {
  agent_.round.clear();
  for (auto& [id, subagent] : subagents_) subagent.is_begun = false;
}

// ── text and reasoning ──

void AguiVoices::say(Lane& lane, std::string_view text) {
  if (text.empty()) return;
  if (lane.text.empty()) {
    close_thoughts(lane);
    lane.text = lane.round = transcript_.add_words(lane.owner);
    lane.text_head = AguiWriter::head_of({AguiType::text_content, lane.text, lane.owner});
    if (shows(lane.owner)) {
      writer_.write({AguiType::text_start, lane.text, lane.owner}, [&](json::Writer& writer) {
        writer.key("messageId").string(lane.text).key("role").string("assistant");
        if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
      });
    }
  }
  transcript_.append(lane.text, text);
  if (shows(lane.owner)) writer_.write_piece({AguiType::text_content, lane.text, lane.owner}, lane.text_head, text);
}

void AguiVoices::think(Lane& lane, std::string_view text) {
  if (text.empty()) return;
  const auto begin = [&](AguiType type) {
    writer_.write({type, lane.thoughts, lane.owner}, [&](json::Writer& writer) {
      writer.key("messageId").string(lane.thoughts);
      if (type == AguiType::reasoning_message_start) writer.key("role").string("reasoning");
      if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
    });
  };
  if (lane.thoughts.empty()) {
    close_text(lane);
    lane.round.clear();
    lane.thoughts = transcript_.add_thoughts(lane.owner);
    lane.thoughts_head = AguiWriter::head_of({AguiType::reasoning_message_content, lane.thoughts, lane.owner});
    if (shows(lane.owner)) {
      begin(AguiType::reasoning_start);
      begin(AguiType::reasoning_message_start);
    }
  }
  transcript_.append(lane.thoughts, text);
  if (!shows(lane.owner)) return;
  writer_.write_piece({AguiType::reasoning_message_content, lane.thoughts, lane.owner}, lane.thoughts_head, text);
}

void AguiVoices::close_text(Lane& lane) {
  const auto id = std::exchange(lane.text, {});
  if (id.empty() || !shows(lane.owner)) return;
  writer_.write({AguiType::text_end, id, lane.owner}, [&](json::Writer& writer) {
    writer.key("messageId").string(id);
    if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
  });
}

void AguiVoices::close_thoughts(Lane& lane) {
  const auto id = std::exchange(lane.thoughts, {});
  if (id.empty() || !shows(lane.owner)) return;
  for (const auto type : {AguiType::reasoning_message_end, AguiType::reasoning_end}) {
    writer_.write({type, id, lane.owner}, [&](json::Writer& writer) {
      writer.key("messageId").string(id);
      if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
    });
  }
}

void AguiVoices::close(Lane& lane) {
  close_text(lane);
  close_thoughts(lane);
}

bool AguiVoices::shows(std::string_view owner) const {
  if (owner.empty()) return true;
  const auto subagent = subagents_.find(owner);
  return writer_.peer() == AguiPeer::current && subagent != subagents_.end() && subagent->second.is_begun &&
         !subagent->second.has_ended;
}

// ── subagents ──

AguiVoices::Lane* AguiVoices::lane_of(std::string_view subagent) {
  if (subagent.empty()) return &agent_;
  auto* known = find_or_begin(subagent);
  return known == nullptr ? nullptr : &known->lane;
}

AguiVoices::Subagent* AguiVoices::begin(const model::events::Subagent& event) {
  if (!subagents_.contains(event.id)) {
    auto& made = subagents_[event.id];
    made.lane.owner = event.id;
    if (!event.name.empty()) made.name = event.name;
    made.step = event.step_id;
  }
  return find_or_begin(event.id);
}

AguiVoices::Subagent* AguiVoices::find_or_begin(std::string_view id) {
  auto known = subagents_.find(id);
  if (known == subagents_.end()) {
    known = subagents_.emplace(id, Subagent{}).first;
    known->second.lane.owner = id;
  }
  auto& subagent = known->second;
  if (subagent.has_ended) return nullptr;
  if (std::exchange(subagent.is_begun, true) || writer_.peer() != AguiPeer::current) return &subagent;
  writer_.write({AguiType::subagent_started, id}, [&](json::Writer& writer) {
    writer.key("subagentRunId").string(id).key("name").string(subagent.name);
    if (!subagent.step.empty()) writer.key("parentToolCallId").string(call_id_of(run_, subagent.step));
  });
  return &subagent;
}

std::vector<std::string> AguiVoices::begun_subagents() const {
  std::vector<std::string> ids;
  for (const auto& [id, subagent] : subagents_) {
    if (subagent.is_begun) ids.push_back(id);
  }
  return ids;
}

void AguiVoices::end_subagent(std::string_view id, Ending ending, std::string_view error) {
  const auto found = subagents_.find(id);
  if (found == subagents_.end()) return;
  auto& subagent = found->second;
  close(subagent.lane);
  subagent.lane.round.clear();
  if (shows(id)) {
    const auto type = ending == Ending::broken ? AguiType::subagent_error : AguiType::subagent_finished;
    writer_.write({type, id}, [&](json::Writer& writer) {
      writer.key("subagentRunId").string(id);
      if (ending == Ending::broken) writer.key("message").string(error);
      if (ending == Ending::done) writer.key("outcome").begin_object().key("type").string("success").end_object();
      if (ending == Ending::parked) writer.key("outcome").begin_object().key("type").string("suspended").end_object();
    });
  }
  subagent.is_begun = false;
  subagent.has_ended = ending != Ending::parked;
}

}  // namespace sluice::wire
