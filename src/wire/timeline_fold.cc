#include "wire/timeline_fold.h"

#include <algorithm>

#include "base/json.h"

namespace sluice::wire {
namespace {

using model::EventKind;

// What the end of a run means for the gate that it waited at.
std::string_view gate_status(const model::RunEvent& end) {
  if (end.kind == EventKind::cancelled) return "cancelled";
  const auto document = json::Document::parse(end.body);
  const auto type = document ? text_of(document.value().root(), "type") : std::string();
  if (type.ends_with("/approval-denied")) return "denied";
  if (type.ends_with("/approval-expired")) return "expired";
  return "failed";
}

}  // namespace

void TimelineFold::apply(const model::RunEvent& event) {
  const auto at_ms = ms_of(event.at);
  if (model::is_terminal(event.kind)) return see_end(event);
  switch (event.kind) {
    case EventKind::accepted:
    case EventKind::queued:
      if (!queue_) queue_ = open("queue", "Waiting for a place", at_ms);
      break;
    case EventKind::started:
      close(queue_, at_ms);
      if (!has_worked_ && !first_token_) first_token_ = open("first_token", "Until the first word", at_ms);
      break;
    case EventKind::text: return speak("Answer", at_ms);
    case EventKind::reasoning: return speak("Thinking", at_ms);
    case EventKind::call: return see_work(at_ms);
    case EventKind::log: return see_log(event);
    case EventKind::step: return see_step(event);
    case EventKind::gate: return see_gate(event);
    case EventKind::resumed:
      if (gate_) phases_[*gate_].status = "approved";
      close(gate_, at_ms);
      break;
    default: break;
  }
}

std::size_t TimelineFold::open(std::string_view phase, std::string_view label, int64_t from_ms) {
  phases_.push_back({.phase = phase, .label = std::string(label), .from_ms = from_ms});
  return phases_.size() - 1;
}

// The clock may have gone back; a phase does not.
void TimelineFold::close(std::optional<std::size_t>& index, int64_t at_ms) {
  if (!index) return;
  phases_[*index].to_ms = std::max(phases_[*index].from_ms, at_ms);
  index.reset();
}

void TimelineFold::see_work(int64_t at_ms) {
  has_worked_ = true;
  close(first_token_, at_ms);
}

void TimelineFold::speak(std::string_view label, int64_t at_ms) {
  see_work(at_ms);
  if (text_ && phases_[*text_].label != label) text_.reset();
  if (!text_) text_ = open("text", label, at_ms);
  phases_[*text_].to_ms = std::max(phases_[*text_].from_ms, at_ms);
}

// Whoever makes a box ready says so when a part of that is done, and how long it took.
void TimelineFold::see_log(const model::RunEvent& event) {
  if (event.body.find("\"phase\"") == std::string::npos) return;
  const auto document = json::Document::parse(event.body);
  if (!document) return;
  const auto name = text_of(document.value().root(), "phase");
  const auto duration = document.value().root().find("durationMs");
  if (name.empty() || name == "run" || !duration || !duration->integer()) return;
  const auto to_ms = ms_of(event.at);
  const auto index = open("box", text_of(document.value().root(), "text"),
                          std::max<int64_t>(0, to_ms - std::max<int64_t>(0, *duration->integer())));
  phases_[index].id = name;
  phases_[index].to_ms = std::max(phases_[index].from_ms, to_ms);
  // The first word is waited for once there is somebody who could say it.
  if (first_token_) phases_[*first_token_].from_ms = std::max(phases_[*first_token_].from_ms, to_ms);
}

void TimelineFold::see_step(const model::RunEvent& event) {
  const auto document = json::Document::parse(event.body);
  if (!document) return;
  const auto id = text_of(document.value().root(), "id");
  if (id.empty()) return;
  const auto at_ms = ms_of(event.at);
  see_work(at_ms);
  text_.reset();
  const auto status = text_of(document.value().root(), "status");
  auto known = steps_.find(id);
  if (known == steps_.end()) {
    known = steps_.emplace(id, open("step", text_of(document.value().root(), "name"), at_ms)).first;
    phases_[known->second].id = id;
  }
  auto& step = phases_[known->second];
  if (!status.empty()) step.status = status;
  if (status != "running") step.to_ms = std::max(step.from_ms, at_ms);
}

void TimelineFold::see_gate(const model::RunEvent& event) {
  const auto document = json::Document::parse(event.body);
  text_.reset();
  gate_ = open("gate", document ? text_of(document.value().root(), "reason") : "", ms_of(event.at));
  phases_[*gate_].status = "pending";
  if (document) phases_[*gate_].id = text_of(document.value().root(), "id");
}

void TimelineFold::see_end(const model::RunEvent& event) {
  if (gate_) phases_[*gate_].status = gate_status(event);
  for (auto& phase : phases_) {
    if (phase.to_ms) continue;
    phase.to_ms = std::max(phase.from_ms, ms_of(event.at));
    if (phase.status == "running") phase.status = "failed";
  }
  queue_.reset(), first_token_.reset(), text_.reset(), gate_.reset();
}

std::string TimelineFold::json(const model::Run& run) const {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("run_id").string(run.id.text()).key("started_at_ms").integer(created_at_.ms);
  writer.key("ended_at_ms");
  run.ended_at ? writer.integer(run.ended_at->ms) : writer.null();
  writer.key("phases").begin_array();
  for (const auto& phase : phases_) {
    writer.begin_object().key("phase").string(phase.phase).key("label").string(phase.label);
    writer.key("from_ms").integer(phase.from_ms).key("to_ms");
    phase.to_ms ? writer.integer(*phase.to_ms) : writer.null();
    if (!phase.status.empty()) writer.key("status").string(phase.status);
    if (!phase.id.empty()) writer.key("id").string(phase.id);
    writer.end_object();
  }
  writer.end_array().end_object();
  return out;
}

}  // namespace sluice::wire
