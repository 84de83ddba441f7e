#include "wire/agui_transcript.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace sluice::wire {
namespace {

// The longest part of `text` that is no longer than `bytes` and cuts no character in two.
std::size_t whole_characters(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text.size();
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return bytes;
}

}  // namespace

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
    const auto kept = whole_characters(entry.text, bytes);
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

}  // namespace sluice::wire
