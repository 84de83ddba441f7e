// What an agent program says while it is at its turn, and how its process ends.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/limits.h"
#include "model/session_id.h"
#include "programs/program_work.h"
#include "runs/runs.h"

namespace sluice::programs {

using harness::Heard;
using model::EventKind;
using model::Slug;

namespace {

constexpr std::size_t complaints_bytes_max = 4'000;
constexpr std::size_t unread_bytes_max = 16 << 20;  // a program that does not read what it asked for

std::string exit_words(const sandbox::Exit& exit) {
  using sandbox::ExitCause;
  switch (exit.cause) {
    case ExitCause::exited: return "it exited with code " + std::to_string(exit.code);
    case ExitCause::killed: return "it was killed by signal " + std::to_string(exit.code);
    case ExitCause::out_of_memory: return "the sandbox's memory was used up";
    case ExitCause::cpu_limit: return "it used more processor time than the sandbox allows";
    case ExitCause::file_limit: return "it wrote a larger file than the sandbox allows";
    default: return "it ended: " + std::string(name_of(exit.cause)) + (exit.what.empty() ? "" : ", " + exit.what);
  }
}

}  // namespace

void ProgramWork::on_output(sandbox::Stream stream, std::string_view bytes) {
  heard_us_ = now_us();
  if (stream == sandbox::Stream::out) return hear(dialect_->feed(bytes));
  complaints_ += bytes;
  if (complaints_.size() > complaints_bytes_max) complaints_.erase(0, complaints_.size() - complaints_bytes_max);
}

void ProgramWork::on_exit(sandbox::Exit exit) {
  const auto process = std::move(process_);
  const bool is_lost = exit.cause == sandbox::ExitCause::box_lost;
  switch (phase_) {
    case Phase::running: break;
    case Phase::ending:
      if (is_lost) return session_->lose(exit.what);
      return conclude();
    case Phase::parking:
      if (is_lost) return session_->lose(exit.what);
      return hold();
    default: return;  // while a human is waited for: it is resumed when it goes on
  }
  if (is_lost) return session_->lose(exit.what);
  if (exit.cause == sandbox::ExitCause::not_started) {
    return fail(Slug::agent_failed,
                "The agent program " + agent_type() + " could not be started: " + runs::to_utf8(exit.what) + ".");
  }
  const auto alive = lifeline_.watch();
  hear(dialect_->end(exit_words(exit), clean(runs::to_utf8(complaints_))));
  if (alive.expired() || phase_ != Phase::running || !session_) return;
  fail(Slug::agent_failed,
       "The agent program " + agent_type() + " ended its turn without a result: " + exit_words(exit) + ".");
}

void ProgramWork::hear(std::vector<Heard> heard) {
  const auto alive = lifeline_.watch();
  for (auto& one : heard) {
    if (!fits_journal(one)) return;
    hear(one);
    if (alive.expired() || !session_) return;
  }
  pump();
}

void ProgramWork::hear(Heard& heard) {
  const bool is_turn = phase_ == Phase::running || phase_ == Phase::holding;
  switch (heard.kind) {
    case Heard::Kind::session: return hear_session(std::move(heard.text));
    case Heard::Kind::usage: return hear_usage(heard.usage);
    case Heard::Kind::deferred: is_deferred_ = true; return;
    default: break;
  }
  if (!is_turn) return;  // what it says of its own end is not part of the answer
  switch (heard.kind) {
    case Heard::Kind::text:
    case Heard::Kind::reasoning: return hear_words(heard);
    case Heard::Kind::replaced: return hear_replaced(heard.kept_bytes);
    case Heard::Kind::permission: return judge_permission(heard);
    case Heard::Kind::withdrawn:
      withdraw(Question::From::permission, heard.question);
      return withdraw(Question::From::channel, heard.question);
    case Heard::Kind::host_call:
      return begin_host_call(
          {.from = Question::From::channel, .number = heard.question, .call = std::move(heard.call)});
    case Heard::Kind::log: return output_.emit(EventKind::log, runs::log_body(heard.level, runs::to_utf8(heard.text)));
    case Heard::Kind::custom: return hear_custom(heard);
    case Heard::Kind::finished:
      // What it asked, it does not want to know any more; but a human is being asked.
      if (phase_ == Phase::holding) return static_cast<void>(is_turn_over_ = true);
      return finish_turn();
    case Heard::Kind::failed: return fail(heard.slug, std::move(heard.text) + (refusal_.empty() ? "" : " " + refusal_));
    default: break;
  }
  if (!is_bounded(heard.call.arguments.size()) || !emit(steps_.hear(heard, now_us()))) return;
  if (steps_.are_too_many()) {
    fail(Slug::agent_failed, "The agent program began more calls than anybody can follow, and ended none of them.");
  }
}

void ProgramWork::hear_session(std::string session_id) {
  if (!model::is_session_id(session_id)) {
    return output_.emit(EventKind::log, runs::log_body("warn", "The agent program's session has an unusable name."));
  }
  session_id_ = std::move(session_id);
  if (std::exchange(told_session_, session_id_) == session_id_) return;
  std::string value;
  json::Writer(value).begin_object().key("sessionId").string(session_id_).end_object();
  output_.emit(EventKind::custom, runs::custom_body(harness::session_event_name(agent_type()), value));
}

void ProgramWork::hear_words(Heard& heard) {
  if (heard.text.empty() || !is_bounded(heard.text.size())) return;
  if (!heard.subagent.empty()) return static_cast<void>(emit(steps_.hear(heard, now_us())));
  if (heard.kind == Heard::Kind::reasoning) return output_.speak(EventKind::reasoning, std::move(heard.text));
  const auto alive = lifeline_.watch();
  end_filler();
  if (alive.expired()) return;
  has_spoken_ = true;
  refusal_.clear();
  if (auto paragraph = paragraphs_.before(heard.text); !paragraph.empty()) {
    breaks_.push_back({raw_.size(), paragraph});
    output_.speak(EventKind::text, std::move(paragraph));
    if (alive.expired()) return;
  }
  raw_ += heard.text;
  output_.speak(EventKind::text, std::move(heard.text));
}

std::string ProgramWork::said() const {
  auto text = said_before_;
  std::size_t from = 0;
  for (const auto& paragraph : breaks_) {
    text += output_.scrubbed(raw_.substr(from, paragraph.at - from)) + paragraph.text;
    from = paragraph.at;
  }
  return text + output_.scrubbed(raw_.substr(from));
}

// The dialect counts what its program said; the event, what the run told.
void ProgramWork::hear_replaced(std::size_t kept_bytes) {
  raw_ = runs::utf8_prefix(raw_, kept_bytes);
  const auto taken_back = std::erase_if(breaks_, [&](const Break& one) { return one.at >= raw_.size(); });
  paragraphs_.take_back(said(), taken_back > 0);
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("kept_bytes").integer(static_cast<int64_t>(said().size())).end_object();
  output_.emit(EventKind::replaced, std::move(body));
}

void ProgramWork::hear_usage(const model::Usage& usage) {
  if (usage.input_tokens == usage_.input_tokens && usage.output_tokens == usage_.output_tokens) return;
  usage_ = usage;
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("input_tokens").integer(usage_before_.input_tokens + usage_.input_tokens);
  writer.key("output_tokens").integer(usage_before_.output_tokens + usage_.output_tokens).end_object();
  output_.emit(EventKind::usage, std::move(body));
}

void ProgramWork::hear_custom(const Heard& heard) {
  if (!is_bounded(heard.json.size()) || !json::Document::parse(heard.json)) return;
  output_.emit(EventKind::custom, runs::custom_body(heard.text, heard.json));
}

void ProgramWork::pump() {
  if (!process_ || !dialect_) return;
  if (const auto bytes = dialect_->take_output(); !bytes.empty()) process_->write(bytes);
  if (process_->unwritten_bytes() > unread_bytes_max) {
    return fail(Slug::agent_failed, "The agent program " + agent_type() + " does not read what it is told.");
  }
  if (dialect_->is_done_writing() && !std::exchange(is_input_closed_, true)) process_->close_input();
}

bool ProgramWork::is_bounded(std::size_t more_bytes) {
  said_bytes_ += more_bytes;
  if (said_bytes_ <= limits::answer_bytes_max) return true;
  fail(Slug::answer_too_large,
       "The agent program said more than " + std::to_string(limits::answer_bytes_max) + " bytes.");
  return false;
}

// The output and results of calls, log lines and names of sessions, which a program that was taken over can send
// without end. An empty event costs something too.
bool ProgramWork::fits_journal(const Heard& heard) {
  event_bytes_ +=
      limits::journal_event_overhead_bytes + heard.text.size() + heard.call.arguments.size() + heard.json.size();
  if (event_bytes_ <= limits::program_events_bytes_max) return true;
  fail(Slug::answer_too_large, "The agent program's events, with the output of its calls, are more than " +
                                   std::to_string(limits::program_events_bytes_max >> 20) + " MiB.");
  return false;
}

void ProgramWork::end_filler() {
  if (!filler_) return;
  const bool is_mid_phrase = filler_->is_mid_phrase();
  filler_count_ = filler_->phrase_count();
  filler_.reset();
  if (is_mid_phrase) output_.speak(EventKind::filler, " ");
}

// ── silence: none of the programs gives up by itself ────────────────────────────────────────────

void ProgramWork::watch_silence() {
  const auto& options = options_;
  const auto silent_ms = (now_us() - std::max(started_us_, heard_us_)) / 1000;
  auto left_ms = (heard_us_ == 0 ? options.start_ms_max : options.silence_ms_max) - silent_ms;
  if (left_ms <= 0) left_ms = options.tool_silence_ms_max - silent_ms;  // a tool is running
  // It may say its first word, or its tool may end, before the next look: that is not later than it would be then.
  left_ms = std::clamp<int64_t>(left_ms, 1, options.silence_ms_max);
  silence_ = context_.loop().after(Millis{left_ms}, [this] { look_for_silence(); });
}

void ProgramWork::look_for_silence() {
  const auto& options = options_;
  const auto name = "The agent program " + agent_type();
  const auto said_nothing_for = [&](int64_t ms) {
    return name + " said nothing for " + std::to_string(ms / 1000) + " s";
  };
  const auto silent_ms = (now_us() - std::max(started_us_, heard_us_)) / 1000;
  if (heard_us_ == 0 && silent_ms >= options.start_ms_max) {
    return fail(Slug::agent_failed,
                name + " said nothing within " + std::to_string(options.start_ms_max / 1000) + " s of its start.");
  }
  if (heard_us_ == 0 || silent_ms < options.silence_ms_max) return watch_silence();
  const bool waits_for_us = !errands_.empty() || !questions_.empty() || !asked_.empty();
  if (waits_for_us) {
    heard_us_ = now_us();
  } else if (!steps_.is_any_at_work()) {
    return fail(Slug::model_timeout,
                said_nothing_for(options.silence_ms_max) + ", and no tool was running: its model may hang.");
  } else if (silent_ms >= options.tool_silence_ms_max) {
    const auto open = steps_.open_steps();
    return fail(Slug::agent_failed, said_nothing_for(options.tool_silence_ms_max) + " while its tool " +
                                        (open.empty() ? "" : clean(runs::to_utf8(open.back().name)) + " ") +
                                        "was running: one of them may hang.");
  }
  watch_silence();
}

}  // namespace sluice::programs
