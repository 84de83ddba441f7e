#include "programs/program_steps.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "runs/runs.h"

namespace sluice::programs {

using harness::Heard;
using harness::ProgramCall;
namespace events = model::events;

namespace {

constexpr std::size_t over_max = 1024;
constexpr std::string_view orphan_words =
    "The run waited for a human, and the agent program did not come back to this call afterwards.";

void append_canonical(json::Value value, std::string& out) {
  json::Writer writer(out);
  switch (value.kind()) {
    case json::Kind::object: {
      std::map<std::string, std::string> members;
      value.each_member(
          [&](std::string_view name, json::Value member) { append_canonical(member, members[std::string(name)]); });
      writer.begin_object();
      for (const auto& [name, text] : members) writer.key_escaped(name).raw(text);
      writer.end_object();
      return;
    }
    case json::Kind::array:
      writer.begin_array();
      value.each_element([&](json::Value element) {
        std::string text;
        append_canonical(element, text);
        writer.raw(text);
      });
      writer.end_array();
      return;
    default: writer.raw(value.to_text());
  }
}

template <typename Event>
Event with_subagent(Event event, const std::string& subagent) {
  event.subagent = subagent;
  return event;
}

events::SubagentText words_of(const std::string& subagent, bool is_text, std::string words) {
  events::SubagentText event{.id = subagent};
  (is_text ? event.text : event.reasoning) = std::move(words);
  return event;
}

// A step's arguments are a JSON object, whatever the program said.
std::string as_object(const std::string& arguments) {
  const auto document = json::Document::parse(arguments);
  if (document && document.value().root().kind() == json::Kind::object) return arguments;
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (!arguments.empty()) writer.key("input").string(runs::to_utf8(arguments));
  writer.end_object();
  return out;
}

std::string key_of(std::string_view name, std::string_view canonical) {
  return std::string(name) + '\n' + std::string(canonical);
}

}  // namespace

std::string canonical_json(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return std::string(text);
  std::string out;
  append_canonical(document.value().root(), out);
  return out;
}

ProgramSteps::ProgramSteps(Bounds bounds, runs::SharedSecrets secrets)
    : bounds_(bounds), secrets_(std::move(secrets)) {}

StepEvents ProgramSteps::hear(const Heard& heard, int64_t now_us) {
  StepEvents events;
  switch (heard.kind) {
    case Heard::Kind::call_began:
      // It may be the one that waited, made again: that is seen when its arguments are whole.
      if (std::ranges::any_of(steps_,
                              [&](const Step& step) { return step.is_orphan && step.name == heard.call.name; })) {
        break;
      }
      if (find(heard.call.id) == nullptr && std::ranges::find(over_, heard.call.id) == over_.end()) {
        const auto& step = add(heard.call, heard.subagent);
        events.push_back(events::Call{.id = step.id, .name = step.name, .subagent = step.subagent});
      }
      break;
    case Heard::Kind::call_piece: hear_piece(heard, events); break;
    case Heard::Kind::call_running: hear_running(heard, now_us, events); break;
    case Heard::Kind::call_output:
      if (auto* const step = find(heard.call.id); step != nullptr && step->is_running) print(*step, heard.text, events);
      break;
    case Heard::Kind::call_ended:
      if (auto* const step = find(heard.call.id); step != nullptr && !step->is_of_host) {
        if (!step->is_running) run(*step, {.id = {}, .name = step->name, .arguments = "{}"}, now_us, events);
        end(*step, {.text = heard.text, .failed = heard.failed}, now_us, events);
      }
      break;
    case Heard::Kind::subagent_began:
    case Heard::Kind::subagent_ended: hear_subagent(heard, events); break;
    case Heard::Kind::text:
    case Heard::Kind::reasoning: speak(heard, events); break;
    default: break;
  }
  return events;
}

ProgramSteps::Step& ProgramSteps::add(const ProgramCall& call, std::string_view subagent) {
  steps_.push_back({.id = "step_" + std::to_string(++count_),
                    .call_id = call.id,
                    .name = call.name.empty() ? "tool" : call.name,
                    .arguments = {},
                    .canonical = {},
                    .subagent = std::string(subagent),
                    .pieces = runs::ScrubbedText(secrets_),
                    .output = runs::ScrubbedText(secrets_)});
  return steps_.back();
}

ProgramSteps::Step* ProgramSteps::find(std::string_view call_id) {
  if (call_id.empty()) return nullptr;
  const auto found = std::ranges::find(steps_, call_id, &Step::call_id);
  return found == steps_.end() ? nullptr : &*found;
}

ProgramSteps::Step* ProgramSteps::find_step(std::string_view step_id) {
  const auto found = std::ranges::find(steps_, step_id, &Step::id);
  return found == steps_.end() ? nullptr : &*found;
}

ProgramSteps::Step* ProgramSteps::find_unnamed(std::string_view name, std::string_view canonical, bool of_host) {
  const auto fits = [&](const Step& step) {
    // What the stream named waits for its call at the bridge; what the bridge named, for the stream's word.
    const bool is_free = of_host ? !step.is_of_host : step.call_id.empty();
    return is_free && step.is_running && step.name == name && step.canonical == canonical;
  };
  const auto found = std::ranges::find_if(steps_, fits);
  return found == steps_.end() ? nullptr : &*found;
}

std::string ProgramSteps::canonical_of(std::string_view arguments) const {
  return runs::scrubbed_json(secrets_, canonical_json(arguments));
}

void ProgramSteps::run(Step& step, const ProgramCall& call, int64_t now_us, StepEvents& events) {
  if (auto rest = step.pieces.finish(); !rest.empty()) {
    events.push_back(events::Call{.id = step.id, .args = std::move(rest), .subagent = step.subagent});
  }
  if (!call.name.empty()) step.name = call.name;
  step.arguments = as_object(call.arguments);
  step.canonical = canonical_of(step.arguments);
  step.is_running = true;
  step.began_us = now_us;
  events.push_back(
      with_subagent(runs::step_running(step.id, {step.call_id, step.name, step.arguments}), step.subagent));
}

void ProgramSteps::hear_running(const Heard& heard, int64_t now_us, StepEvents& events) {
  const auto& call = heard.call;
  if (auto* const step = find(call.id)) {
    if (!step->is_running) run(*step, call, now_us, events);
    return;
  }
  const auto canonical = canonical_of(as_object(call.arguments));
  // The bridge may have heard of it first, and may even be done with it.
  for (const auto& key : {call.id, key_of(call.name, canonical)}) {
    const auto at = std::ranges::find(over_, key);
    if (key.empty() || at == over_.end()) continue;
    *at = call.id;
    return;
  }
  if (auto* const step = find_unnamed(call.name, canonical, false)) {
    step->call_id = call.id;
    step->is_orphan = false;
    return;
  }
  run(add(call, heard.subagent), call, now_us, events);
}

void ProgramSteps::hear_piece(const Heard& heard, StepEvents& events) {
  auto* const step = find(heard.call.id);
  if (step == nullptr || step->is_running) return;
  const auto text = step->pieces.push(heard.text);
  if (text.empty()) return;
  events.push_back(events::Call{.id = step->id, .args = text, .subagent = step->subagent});
}

void ProgramSteps::hear_subagent(const Heard& heard, StepEvents& events) {
  const auto found = subagents_.find(heard.subagent);
  if (heard.kind == Heard::Kind::subagent_began) {
    if (found != subagents_.end()) return;
    subagents_.emplace(heard.subagent,
                       Subagent{heard.text, runs::ScrubbedText(secrets_), runs::ScrubbedText(secrets_)});
    events::Subagent began{.id = heard.subagent, .name = heard.text, .status = events::SubagentStatus::started};
    if (const auto* const step = find(heard.call.id)) began.step_id = step->id;
    events.push_back(std::move(began));
    return;
  }
  if (found == subagents_.end()) return;
  for (const bool is_text : {true, false}) {
    auto rest = (is_text ? found->second.text : found->second.reasoning).finish();
    if (!rest.empty()) events.push_back(words_of(found->first, is_text, std::move(rest)));
  }
  events::Subagent ended{.id = found->first, .name = found->second.name};
  ended.status = heard.failed ? events::SubagentStatus::failed : events::SubagentStatus::finished;
  if (heard.failed) ended.error = heard.text;
  events.push_back(std::move(ended));
  subagents_.erase(found);
}

void ProgramSteps::speak(const Heard& heard, StepEvents& events) {
  const auto found = subagents_.find(heard.subagent);
  if (found == subagents_.end()) return;
  const bool is_text = heard.kind == Heard::Kind::text;
  auto text = (is_text ? found->second.text : found->second.reasoning).push(heard.text);
  if (!text.empty()) events.push_back(words_of(found->first, is_text, std::move(text)));
}

std::string ProgramSteps::claim(const ProgramCall& call, bool of_host, int64_t now_us, StepEvents& events) {
  auto* step = find(call.id);
  if (step == nullptr) step = find_unnamed(call.name, canonical_of(as_object(call.arguments)), of_host);
  if (step == nullptr) step = &add(call, {});
  if (step->call_id.empty()) step->call_id = call.id;
  if (!step->is_running) run(*step, call, now_us, events);
  step->is_of_host = step->is_of_host || of_host;
  step->is_orphan = false;
  return step->id;
}

void ProgramSteps::release(std::string_view step_id) {
  auto* const step = find_step(step_id);
  if (step == nullptr) return;
  step->call_id.clear();
  step->is_of_host = false;
  step->is_orphan = true;
}

StepEvents ProgramSteps::print(std::string_view step_id, std::string_view text) {
  StepEvents events;
  if (auto* const step = find_step(step_id)) print(*step, std::string(text), events);
  return events;
}

void ProgramSteps::print(Step& step, std::string text, StepEvents& events) {
  const auto emit = [&](std::string_view piece) {
    events.push_back(with_subagent(runs::printed(step.id, sandbox::Stream::out, piece), step.subagent));
  };
  if (step.printed_bytes > bounds_.output_bytes_max) return;
  const auto clean = step.output.push(std::move(text));
  const auto fits = runs::utf8_prefix(clean, bounds_.output_bytes_max - step.printed_bytes);
  if (!fits.empty()) emit(fits);
  step.printed_bytes += fits.size();
  if (fits.size() == clean.size()) return;
  step.printed_bytes = bounds_.output_bytes_max + 1;
  emit("\n… output cut: more than " + std::to_string(bounds_.output_bytes_max) + " bytes …\n");
}

StepEvents ProgramSteps::end(std::string_view step_id, const runs::ToolAnswer& answer, int64_t now_us) {
  StepEvents events;
  if (auto* const step = find_step(step_id)) end(*step, answer, now_us, events);
  return events;
}

void ProgramSteps::end(Step& step, const runs::ToolAnswer& answer, int64_t now_us, StepEvents& events) {
  if (auto rest = step.output.finish(); !rest.empty() && step.printed_bytes <= bounds_.output_bytes_max) {
    events.push_back(with_subagent(runs::printed(step.id, sandbox::Stream::out, rest), step.subagent));
  }
  runs::Excerpt excerpt(bounds_.result_chars_max);
  excerpt.append(runs::to_utf8(answer.text));
  const auto took_ms = step.used_ms + (now_us - step.began_us) / 1000;
  events.push_back(
      with_subagent(runs::step_ended(step.id, step.name, {excerpt.text(), answer.failed}, took_ms), step.subagent));
  over_.push_back(step.call_id.empty() ? key_of(step.name, step.canonical) : step.call_id);
  if (over_.size() > over_max) over_.pop_front();
  std::erase_if(steps_, [&](const Step& one) { return &one == &step; });
}

StepEvents ProgramSteps::break_off(const std::string& why, int64_t now_us) {
  auto events = let_go(why, now_us);
  while (!steps_.empty()) {
    const auto& words = steps_.front().is_orphan ? std::string(orphan_words) : why;
    end(steps_.front(), {.text = words, .failed = true}, now_us, events);
  }
  return events;
}

bool ProgramSteps::is_any_at_work() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return !step.is_orphan; });
}

StepEvents ProgramSteps::let_go(const std::string& why, int64_t now_us) {
  StepEvents events;
  for (auto at = steps_.begin(); at != steps_.end();) {
    auto& step = *at++;
    if (step.is_running) continue;
    run(step, {.id = {}, .name = step.name, .arguments = "{}"}, now_us, events);
    end(step, {.text = why, .failed = true}, now_us, events);
  }
  while (!subagents_.empty()) {
    hear_subagent(
        {.kind = Heard::Kind::subagent_ended, .text = why, .subagent = subagents_.begin()->first, .failed = true},
        events);
  }
  return events;
}

void ProgramSteps::pause(int64_t now_us) {
  for (auto& step : steps_) {
    if (step.is_running) step.used_ms += (now_us - std::exchange(step.began_us, now_us)) / 1000;
  }
}

void ProgramSteps::go_on(int64_t now_us) {
  for (auto& step : steps_) step.began_us = now_us;
}

std::vector<OpenStep> ProgramSteps::open_steps() const {
  std::vector<OpenStep> open;
  for (const auto& step : steps_) {
    if (step.is_running) open.push_back({step.id, step.name, step.arguments, step.subagent, step.used_ms});
  }
  return open;
}

void ProgramSteps::take_up(const std::vector<OpenStep>& steps, int64_t count, int64_t now_us) {
  steps_.clear();
  subagents_.clear();
  over_.clear();
  for (const auto& open : steps) {
    auto& step = add({.id = {}, .name = open.name, .arguments = {}}, open.subagent);
    step.id = open.id;
    step.arguments = open.arguments;
    step.canonical = canonical_of(open.arguments);
    step.is_running = true;
    step.is_orphan = true;
    step.used_ms = open.used_ms;
    step.began_us = now_us;
  }
  count_ = count;
}

}  // namespace sluice::programs
