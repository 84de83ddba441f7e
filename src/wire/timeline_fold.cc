#include "wire/timeline_fold.h"

#include <algorithm>

#include "base/json.h"

namespace sluice::wire {
namespace {

namespace events = model::events;

// What the failure of a run means for the gate that it waited at.
std::string_view gate_status(const events::Failed& end) {
  if (end.code == "approval-denied") return "denied";
  if (end.code == "approval-expired") return "expired";
  return "failed";
}

}  // namespace

void TimelineFold::apply(const model::RunEvent& event) {
  const auto at_ms = ms_of(event.at);
  const auto wait_for_slot = [&] {
    if (!queue_) queue_ = open("queue", "Waiting for a place", at_ms);
  };
  model::visit_event(
      event, model::Visitor{
                 [&](const events::Accepted&) { wait_for_slot(); },
                 [&](const events::Queued&) { wait_for_slot(); },
                 [&](const events::Started&) { see_start(at_ms); },
                 [&](const events::Text&) { speak("Answer", at_ms); },
                 [&](const events::Reasoning&) { speak("Thinking", at_ms); },
                 [&](const events::Call&) { see_work(at_ms); },
                 [&](const events::Log& log) { see_log(log, at_ms); },
                 [&](const events::Step& step) { see_step(step, at_ms); },
                 [&](const events::Gate& gate) { see_gate(gate, at_ms); },
                 [&](const events::Resumed&) { leave_gate("approved", at_ms); },
                 [&](const events::Completed&) { see_end("failed", at_ms); },
                 [&](const events::Failed& failed) { see_end(gate_status(failed), at_ms); },
                 [&](const events::Cancelled&) { see_end("cancelled", at_ms); },
                 // These are no phases of their own.
                 model::Ignores<events::Filler, events::UsageSum, events::Output, events::File, events::Diff,
                                events::Custom, events::Egress, events::Checkpoint, events::Replaced, events::Subagent,
                                events::SubagentText, events::Answers, events::Mark, events::Unreadable>{},
             });
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

void TimelineFold::see_start(int64_t at_ms) {
  close(queue_, at_ms);
  if (!has_worked_ && !first_token_) first_token_ = open("first_token", "Until the first word", at_ms);
}

// A part of the sandbox's preparation is reported when it is done, with how long it took.
void TimelineFold::see_log(const events::Log& log, int64_t to_ms) {
  if (log.phase.empty() || log.phase == "run" || !log.duration_ms) return;
  const auto index = open("box", log.text, std::max<int64_t>(0, to_ms - std::max<int64_t>(0, *log.duration_ms)));
  phases_[index].id = log.phase;
  phases_[index].to_ms = std::max(phases_[index].from_ms, to_ms);
  // The wait for the first word begins when the sandbox is there.
  if (first_token_) phases_[*first_token_].from_ms = std::max(phases_[*first_token_].from_ms, to_ms);
}

void TimelineFold::see_step(const events::Step& event, int64_t at_ms) {
  if (event.id.empty()) return;
  see_work(at_ms);
  text_.reset();
  auto known = steps_.find(event.id);
  if (known == steps_.end()) {
    known = steps_.emplace(event.id, open("step", event.name, at_ms)).first;
    phases_[known->second].id = event.id;
  }
  auto& step = phases_[known->second];
  if (event.status != events::StepStatus::unknown) step.status = model::name_of(event.status);
  if (event.status != events::StepStatus::running) step.to_ms = std::max(step.from_ms, at_ms);
}

void TimelineFold::see_gate(const events::Gate& gate, int64_t at_ms) {
  text_.reset();
  gate_ = open("gate", gate.reason, at_ms);
  phases_[*gate_].status = "pending";
  phases_[*gate_].id = gate.id;
}

void TimelineFold::leave_gate(std::string_view status, int64_t at_ms) {
  if (gate_) phases_[*gate_].status = status;
  close(gate_, at_ms);
}

void TimelineFold::see_end(std::string_view gate_status, int64_t at_ms) {
  if (gate_) phases_[*gate_].status = gate_status;
  for (auto& phase : phases_) {
    if (phase.to_ms) continue;
    phase.to_ms = std::max(phase.from_ms, at_ms);
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
