#include "wire/agui_messages.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
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

// ── the transcript ──

std::string AguiTranscript::add(Role role, std::string_view subagent) {
  entries_.push_back({.role = role, .id = next_id(), .subagent = std::string(subagent), .number = count_});
  return entries_.back().id;
}

void AguiTranscript::append(std::string_view message, std::string_view text) {
  auto* entry = find(message);
  if (entry == nullptr) return;
  if (entry->text.empty() && entry->role == Role::assistant && entry->subagent.empty()) {
    entry->gap = std::exchange(gap_, 0);
  }
  entry->text += text;
}

void AguiTranscript::add_call(std::string_view message, std::string_view call, std::string_view name) {
  if (auto* entry = find(message)) entry->calls.push_back({std::string(call), std::string(name), {}});
}

void AguiTranscript::append_arguments(std::string_view call, std::string_view arguments) {
  auto* entry = find_call(call);
  if (entry == nullptr) return;
  for (auto& made : entry->calls) {
    if (made.id == call) made.arguments += arguments;
  }
}

void AguiTranscript::forget_call(std::string_view call) {
  if (auto* entry = find_call(call)) std::erase_if(entry->calls, [&](const Call& made) { return made.id == call; });
}

std::string AguiTranscript::add_result(std::string_view call, std::string_view content, bool failed,
                                       std::string_view subagent) {
  auto place = entries_.end();
  if (auto* owner = find_call(call)) {
    place = entries_.begin() + (owner - entries_.data()) + 1;
    while (place != entries_.end() && place->role == Role::tool) ++place;
  }
  const auto made = entries_.insert(place, {.role = Role::tool,
                                            .id = next_id(),
                                            .subagent = std::string(subagent),
                                            .text = std::string(content),
                                            .call = std::string(call),
                                            .failed = failed,
                                            .number = count_});
  return made->id;
}

void AguiTranscript::mark_as_clients(std::string_view call) {
  for (auto& entry : entries_) entry.is_clients |= entry.role == Role::tool && entry.call == call;
}

std::string AguiTranscript::keep_words(std::size_t bytes) {
  std::string last;
  gap_ = 0;
  for (auto& entry : entries_) {
    if (entry.role != Role::assistant || !entry.subagent.empty() || entry.text.empty()) continue;
    bytes -= std::min(bytes, entry.gap);
    const auto kept = utf8_prefix_size(entry.text, bytes);
    bytes = kept < entry.text.size() ? 0 : bytes - kept;
    entry.text.resize(kept);
    if (kept > 0) last = entry.id;
  }
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.role == Role::assistant && entry.subagent.empty() && entry.text.empty() && entry.calls.empty();
  });
  return last;
}

void AguiTranscript::append_json(std::string& out, bool with_subagents) const {
  bool is_first = true;
  for (const auto& entry : entries_) {
    if (!with_subagents && !entry.subagent.empty()) continue;
    if (entry.role == Role::assistant && entry.text.empty() && entry.calls.empty()) continue;
    if (!is_first) out += ',';
    is_first = false;
    append_entry(out, entry);
  }
}

void AguiTranscript::append_begun_json(std::string& out, int64_t count) const {
  AguiTranscript begun(prefix_);
  for (const auto& entry : entries_) {
    if (entry.number <= count || entry.is_clients) begun.entries_.push_back(entry);
  }
  begun.append_json(out, false);
}

void AguiTranscript::append_entry(std::string& out, const Entry& entry) {
  json::Writer writer(out);
  writer.begin_object().key("id").string(entry.id);
  switch (entry.role) {
    case Role::assistant:
      writer.key("role").string("assistant");
      if (!entry.text.empty()) writer.key("content").string(entry.text);
      break;
    case Role::reasoning: writer.key("role").string("reasoning").key("content").string(entry.text); break;
    case Role::tool:
      writer.key("role").string("tool").key("toolCallId").string(entry.call).key("content").string(entry.text);
      if (entry.failed) writer.key("error").string(entry.text);
      break;
  }
  if (!entry.calls.empty()) {
    writer.key("toolCalls").begin_array();
    for (const auto& call : entry.calls) {
      writer.begin_object().key("id").string(call.id).key("type").string("function").key("function").begin_object();
      writer.key("name").string(call.name).key("arguments").string(call.arguments).end_object().end_object();
    }
    writer.end_array();
  }
  if (!entry.subagent.empty()) writer.key("subagentRunId").string(entry.subagent);
  writer.end_object();
}

// What goes on is mostly what came last.
AguiTranscript::Entry* AguiTranscript::find(std::string_view id) {
  const auto found =
      std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) { return entry.id == id; });
  return found == entries_.rend() ? nullptr : &*found;
}

AguiTranscript::Entry* AguiTranscript::find_call(std::string_view id) {
  const auto has_it = [&](const Entry& entry) {
    return std::any_of(entry.calls.begin(), entry.calls.end(), [&](const Call& call) { return call.id == id; });
  };
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), has_it);
  return found == entries_.rend() ? nullptr : &*found;
}

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

// ── calls ──

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
