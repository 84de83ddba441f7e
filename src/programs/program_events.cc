#include "programs/program_events.h"

#include <utility>
#include <variant>

#include "base/json.h"
#include "base/limits.h"
#include "model/session_id.h"
#include "programs/program_policy.h"

namespace sluice::programs {

using harness::Heard;
using model::EventKind;
using model::Slug;

namespace {

// The program's next words after it are of another round.
bool is_beginning_of_call(const model::EventData& event) {
  const auto* const step = std::get_if<model::events::Step>(&event);
  return std::holds_alternative<model::events::Call>(event) ||
         (step != nullptr && step->status == model::events::StepStatus::running);
}

}  // namespace

using model::EventKind;

void ProgramAnswer::say(std::string text) {
  if (auto paragraph = paragraphs_.before(text); !paragraph.empty()) {
    breaks_.push_back({raw_.size(), paragraph});
    const auto alive = lifetime_.watch();
    output_.speak(EventKind::text, std::move(paragraph));
    if (alive.is_over()) return;
  }
  raw_ += text;
  output_.speak(EventKind::text, std::move(text));
}

std::string ProgramAnswer::text() const {
  auto text = before_;
  std::size_t from = 0;
  for (const auto& paragraph : breaks_) {
    text += output_.scrubbed(raw_.substr(from, paragraph.at - from)) + paragraph.text;
    from = paragraph.at;
  }
  return text + output_.scrubbed(raw_.substr(from));
}

// The dialect counts what its program said; the event, what the run emitted.
void ProgramAnswer::replace(std::size_t kept_bytes) {
  raw_ = runs::utf8_prefix(raw_, kept_bytes);
  const auto taken_back = std::erase_if(breaks_, [&](const Break& one) { return one.at >= raw_.size(); });
  paragraphs_.take_back(text(), taken_back > 0);
  output_.emit(model::events::Replaced{static_cast<int64_t>(text().size())});
}

void ProgramAnswer::begin_process() {
  before_ = text();
  raw_.clear();
  breaks_.clear();
}

void ProgramAnswer::restore(std::string text) {
  before_ = std::move(text);
  paragraphs_.note(before_);
  paragraphs_.end_round();
}

void ProgramEvents::hear(Heard& heard, bool is_turn) {
  switch (heard.kind) {
    case Heard::Kind::session: return hear_session(std::move(heard.text));
    case Heard::Kind::usage: return hear_usage(heard.usage);
    case Heard::Kind::deferred: return user_.on_heard(heard);
    default: break;
  }
  if (!is_turn) return;  // what it says of its own end is not part of the answer
  switch (heard.kind) {
    case Heard::Kind::text:
    case Heard::Kind::reasoning: return hear_words(heard);
    case Heard::Kind::replaced: return answer_.replace(heard.kept_bytes);
    case Heard::Kind::permission:
    case Heard::Kind::withdrawn:
    case Heard::Kind::host_call:
    case Heard::Kind::finished:
    case Heard::Kind::failed: return user_.on_heard(heard);
    case Heard::Kind::log: return output_.emit(runs::log_line(heard.level, runs::to_utf8(heard.text)));
    case Heard::Kind::custom: return hear_custom(heard);
    default: break;
  }
  if (!is_bounded(heard.call.arguments.size()) || !emit_steps(steps_.hear(heard, loop_.monotonic_us()))) return;
  if (steps_.are_too_many()) {
    user_.fail(Slug::agent_failed,
               "The agent program began more calls than anybody can follow, and ended none of them.");
  }
}

void ProgramEvents::hear_session(std::string session_id) {
  if (!model::is_session_id(session_id)) {
    return output_.emit(runs::log_line("warn", "The agent program's session has an unusable name."));
  }
  session_id_ = std::move(session_id);
  if (std::exchange(emitted_session_, session_id_) == session_id_) return;
  std::string value;
  json::Writer(value).begin_object().key("sessionId").string(session_id_).end_object();
  output_.emit(runs::custom_event(harness::session_event_name(agent_type_), value));
}

void ProgramEvents::hear_words(Heard& heard) {
  if (heard.text.empty() || !is_bounded(heard.text.size())) return;
  if (!heard.subagent.empty()) return static_cast<void>(emit_steps(steps_.hear(heard, loop_.monotonic_us())));
  if (heard.kind == Heard::Kind::reasoning) return output_.speak(EventKind::reasoning, std::move(heard.text));
  const auto alive = lifetime_.watch();
  filler_.end();
  if (alive.is_over()) return;
  filler_.note_words();
  refusal_.clear();
  answer_.say(std::move(heard.text));
}

void ProgramEvents::hear_usage(const model::Usage& usage) {
  if (usage.input_tokens == usage_.input_tokens && usage.output_tokens == usage_.output_tokens) return;
  usage_ = usage;
  output_.emit(model::events::UsageSum{.input_tokens = usage_before_.input_tokens + usage_.input_tokens,
                                       .output_tokens = usage_before_.output_tokens + usage_.output_tokens});
}

void ProgramEvents::hear_custom(const Heard& heard) {
  if (!is_bounded(heard.json.size()) || !json::Document::parse(heard.json)) return;
  output_.emit(runs::custom_event(heard.text, heard.json));
}

bool ProgramEvents::is_bounded(std::size_t more_bytes) {
  said_bytes_ += more_bytes;
  if (said_bytes_ <= limits::answer_bytes_max) return true;
  user_.fail(Slug::answer_too_large,
             "The agent program said more than " + std::to_string(limits::answer_bytes_max) + " bytes.");
  return false;
}

// The output and results of calls, log lines and names of sessions, which a program that was taken over can send
// without end. An empty event costs something too.
bool ProgramEvents::fits_journal(const Heard& heard) {
  event_bytes_ +=
      limits::journal_event_overhead_bytes + heard.text.size() + heard.call.arguments.size() + heard.json.size();
  if (event_bytes_ <= limits::program_events_bytes_max) return true;
  user_.fail(Slug::answer_too_large, "The agent program's events, with the output of its calls, are more than " +
                                         std::to_string(limits::program_events_bytes_max >> 20) + " MiB.");
  return false;
}

// Some programs end their turn at a refusal without a word, or in words of their own: that it was ours is reported
// here.
bool ProgramEvents::emit_refusal(const harness::ProgramCall& call, std::string_view why) {
  refusal_ = refused_call_words(call, why) + ".";
  return is_bounded(refusal_.size()) && emit_steps({runs::log_line("warn", refusal_)});
}

bool ProgramEvents::emit_steps(const StepEvents& events) {
  const auto alive = lifetime_.watch();
  for (const auto& event : events) {
    if (is_beginning_of_call(event)) answer_.end_round();
    output_.emit(event);
    if (alive.is_over()) return false;
  }
  return true;
}

void ProgramEvents::begin_process() {
  answer_.begin_process();
  usage_before_ = usage();
  usage_ = {};
}

void ProgramEvents::restore(std::string session_id, std::string said, std::size_t said_bytes, model::Usage usage) {
  session_id_ = emitted_session_ = std::move(session_id);
  answer_.restore(std::move(said));
  said_bytes_ = said_bytes;
  usage_before_ = usage;
}

}  // namespace sluice::programs
