#include "wire/agui_calls.h"

#include <utility>

#include "base/utf8.h"
#include "wire/agui_call_ids.h"

namespace sluice::wire {
namespace {

namespace events = model::events;
using Lane = AguiVoices::Lane;

// A step ends with a text, as a rule; any other value is shown as JSON.
std::string content_of(const model::RawJson& result) {
  const auto document = json::Document::parse(result.text);
  const auto text = document ? document.value().root().string() : std::nullopt;
  return text ? std::string(*text) : result.text;
}

}  // namespace

void AguiCalls::begin_segment() {
  for (const auto& [id, call] : calls_) {
    if (!call.is_answered) voices_.writer().know_call(id);
  }
}

void AguiCalls::write_call(const events::Call& event) {
  if (event.id.empty()) return;
  auto* lane = voices_.lane_of(event.subagent);
  if (lane == nullptr) return;
  const auto id = call_id_of(voices_.run(), event.id);
  const auto known = calls_.find(id);
  // A piece of a call that has no name yet: its step will have all of it.
  if (event.name.empty() && (known == calls_.end() || known->second.is_taken_back)) return;
  auto& call = call_for(*lane, id, event.name);
  if (call.is_open) add_arguments(id, call, event.args.value_or(""));
}

void AguiCalls::write_step(const events::Step& event) {
  if (event.id.empty()) return;
  auto* lane = voices_.lane_of(event.subagent);
  if (lane == nullptr) return;
  const auto id = call_id_of(voices_.run(), event.id);
  auto& call = call_for(*lane, id, event.name);
  if (call.is_open) {
    if (!call.has_arguments) add_arguments(id, call, event.args.is_missing() ? "{}" : event.args.text);
    end(id, call);
  }
  if (event.status == events::StepStatus::succeeded) answer(id, call, content_of(event.result), false);
  if (event.status == events::StepStatus::failed) answer(id, call, event.error.value_or(""), true);
}

void AguiCalls::write_whole(const model::ClientCall& asked) {
  if (asked.id.empty()) return;
  const auto id = call_id_of(voices_.run(), asked.id);
  auto& call = call_for(voices_.agent(), id, asked.name);
  if (!call.is_open) return;
  if (!call.has_arguments) add_arguments(id, call, asked.arguments.empty() ? "{}" : asked.arguments);
  end(id, call);
}

void AguiCalls::set_answered_by_client(std::string_view step_id) {
  answered_by_client_.insert(call_id_of(voices_.run(), step_id));
}

AguiCalls::Call& AguiCalls::call_for(Lane& asked, const std::string& id, std::string_view name) {
  const auto known = calls_.find(id);
  if (known != calls_.end() && !known->second.is_taken_back) return known->second;
  // A call that is begun again stays the agent's own.
  auto& lane = known == calls_.end() ? asked : voices_.agent();
  auto& transcript = voices_.transcript();
  voices_.close(lane);
  if (lane.round.empty()) lane.round = transcript.add_words(lane.owner);
  if (name.empty()) name = "tool";
  transcript.add_call(lane.round, id, name);
  auto& call = calls_[id] = Call{.owner = lane.owner};
  call.head = AguiWriter::head_of({AguiType::call_args, id, lane.owner});
  if (!voices_.shows(lane.owner)) return call;
  voices_.writer().write({AguiType::call_start, id, lane.owner, lane.round}, [&](json::Writer& writer) {
    writer.key("toolCallId").string(id).key("toolCallName").string(name);
    writer.key("parentMessageId").string(lane.round);
    if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
  });
  return call;
}

void AguiCalls::add_arguments(const std::string& id, Call& call, std::string_view text) {
  if (text.empty()) return;
  call.has_arguments = true;
  voices_.transcript().append_arguments(id, text);
  if (!voices_.shows(call.owner)) return;
  voices_.writer().write_piece({AguiType::call_args, id, call.owner}, call.head, text);
}

void AguiCalls::end(const std::string& id, Call& call) {
  call.is_open = false;
  if (!voices_.shows(call.owner)) return;
  voices_.writer().write({AguiType::call_end, id, call.owner}, [&](json::Writer& writer) {
    writer.key("toolCallId").string(id);
    if (!call.owner.empty()) writer.key("subagentRunId").string(call.owner);
  });
}

void AguiCalls::answer(const std::string& id, Call& call, std::string_view content, bool failed) {
  if (std::exchange(call.is_answered, true)) return;
  content = content.substr(0, utf8_prefix_size(content, agui_content_bytes_max));
  auto& transcript = voices_.transcript();
  const auto message = transcript.add_result(id, content, failed, call.owner);
  // What the model says or calls next is part of another round.
  if (auto* lane = voices_.lane_of(call.owner)) lane->round.clear();
  if (answered_by_client_.contains(id)) return transcript.mark_as_clients(id);
  if (!voices_.shows(call.owner)) return;
  auto& frames = voices_.writer();
  frames.write({AguiType::call_result, id, call.owner}, [&](json::Writer& writer) {
    writer.key("messageId").string(message).key("toolCallId").string(id).key("content").string(content);
    writer.key("role").string("tool");
    if (!call.owner.empty()) writer.key("subagentRunId").string(call.owner);
    if (!failed || frames.peer() != AguiPeer::tanstack) return;
    writer.key("metadata").begin_object().key("tanstack").begin_object();
    writer.key("state").string("output-error").end_object().end_object();
  });
}

void AguiCalls::end_calls_of(std::string_view owner) {
  for (auto& [id, call] : calls_) {
    if (call.is_open && call.owner == owner) end(id, call);
  }
}

void AguiCalls::end_calls() {
  for (auto& [id, call] : calls_) {
    if (call.is_open) end(id, call);
  }
}

void AguiCalls::take_back() {
  for (auto& [id, call] : calls_) {
    if (!call.is_open || !call.owner.empty()) continue;
    end(id, call);
    voices_.transcript().forget_call(id);
    call.is_taken_back = true;
  }
}

void AguiCalls::give_up(std::string_view why) {
  for (auto& [id, call] : calls_) {
    if (call.is_taken_back || call.is_answered) continue;
    if (call.is_open) end(id, call);
    answer(id, call, why, true);
  }
}

std::string AguiCalls::leave_to_client(std::string_view step_id) {
  const auto call = calls_.find(call_id_of(voices_.run(), step_id));
  if (call == calls_.end() || call->second.is_answered) return {};
  return voices_.writer().leave(call->first) ? call->first : std::string();
}

}  // namespace sluice::wire
