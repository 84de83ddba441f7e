#include "wire/agui_teller.h"

#include <algorithm>
#include <utility>

#include "wire/agui_fold.h"

namespace sluice::wire {
namespace {

using model::EventKind;

constexpr std::size_t content_bytes_max = std::size_t{1} << 20;

// What a step ended with: text, as a rule.
std::string content_of(json::Value step, std::string_view member) {
  const auto value = step.find(member);
  if (!value) return {};
  return value->string() ? std::string(*value->string()) : value->to_text();
}

}  // namespace

std::string text_in(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return std::string(value ? value->string().value_or("") : "");
}

std::string_view cut_to_fit(std::string_view text) {
  if (text.size() <= content_bytes_max) return text;
  auto size = content_bytes_max;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

AguiTeller::AguiTeller(const View& view, const model::Run& run)
    : view_(view),
      run_(run),
      writer_(view.format, view.after),
      transcript_(run.message_id.text()),
      thread_id_(run.conversation_id.text()) {}

void AguiTeller::apply(const model::RunEvent& event, std::string& out) {
  if (is_over()) return;
  writer_.aim(out, event.at);
  if (segment_ < 0) {
    if (event.kind == EventKind::accepted) {
      if (const auto body = json::Document::parse(event.body)) take_names(body.value().root());
    }
    begin_segment();
  }
  if (!is_parked_ || wakes(event)) tell(event);
  if (model::is_terminal(event.kind)) is_run_over_ = true;
}

// ── segments ──

void AguiTeller::take_names(json::Value accepted) {
  const auto extras = model::extras_from_json(accepted);
  if (!extras.agui) return;
  has_client_ = true;
  thread_id_ = extras.agui->thread_id;
  next_run_id_ = extras.agui->run_id;
  parent_run_id_ = extras.agui->parent_run_id;
  const auto messages = json::Document::parse(extras.agui->messages);
  if (!messages) return;
  messages.value().root().each_element([&](json::Value message) {
    const auto text = message.to_text();
    if (text_in(message, "role") == "user") {
      earlier_bytes_ = client_messages_.size();
      user_message_ = text;
    }
    if (!client_messages_.empty()) client_messages_ += ',';
    client_messages_ += text;
  });
}

void AguiTeller::take_answers(json::Value body) {
  auto answers = model::answers_from_json(body);
  next_run_id_ = std::move(answers.agui_run_id);
  for (const auto& result : answers.results) {
    answered_by_client_.insert(call_id_of(run_, step_id_of(result.call_id)));
  }
}

void AguiTeller::begin_segment() {
  ++segment_;
  count_before_segment_ = transcript_.count();
  is_parked_ = false;
  interrupts_.clear();
  const auto before = run_id_;
  run_id_ = segment_ == 0 ? run_.id.text() : run_.id.text() + "." + std::to_string(segment_);
  if (next_run_id_) run_id_ = *std::exchange(next_run_id_, std::nullopt);
  if (segment_ > 0) {
    parent_run_id_.reset();
    // TanStack's client names the run that waited as the parent of the one that goes on.
    if (writer_.peer() == AguiPeer::tanstack) parent_run_id_ = before;
  }
  usage_before_ = usage_;
  phases_.clear();
  main_.round.clear();
  for (auto& [id, subagent] : subagents_) subagent.is_told = false;
  writer_.begin_stream(run_id_, segment_ == view_.segment);
  for (const auto& [id, call] : calls_) {
    if (!call.is_answered) writer_.know_call(id);
  }
  writer_.tell({AguiType::run_started, run_id_}, [&](json::Writer& writer) {
    writer.key("threadId").string(thread_id_).key("runId").string(run_id_);
    if (parent_run_id_) writer.key("parentRunId").string(*parent_run_id_);
    writer.key("protocolVersion").string("1.0");
  });
  if (segment_ > 0) tell_conversation();
}

// Whether it is news for a run that waits for a human.
bool AguiTeller::wakes(const model::RunEvent& event) {
  if (event.kind == EventKind::answers) {
    if (const auto body = json::Document::parse(event.body)) take_answers(body.value().root());
  }
  if (event.kind == EventKind::step) late_steps_.push_back(event.body);
  const bool is_end = model::is_terminal(event.kind);
  if (event.kind != EventKind::resumed && !is_end) return false;
  begin_segment();
  tell_late_steps(is_end);
  if (is_end) give_up_calls(event.body);
  return is_end;
}

// So that the same run can be found elsewhere.
void AguiTeller::tell_conversation() {
  custom("sluice.conversation", [&](json::Writer& writer) {
    writer.begin_object().key("conversationId").string(run_.conversation_id.text());
    writer.key("messageId").string(run_.message_id.text()).key("runId").string(run_.id.text()).end_object();
  });
}

// ── what happens ──

void AguiTeller::tell(const model::RunEvent& event) {
  switch (event.kind) {
    case EventKind::text: return say_answer(event.body);
    case EventKind::reasoning: return think(main_, event.body);
    case EventKind::started: return tell_conversation();
    case EventKind::filler:
      return custom("sluice.filler",
                    [&](json::Writer& writer) { writer.begin_object().key("text").string(event.body).end_object(); });
    case EventKind::completed:
    case EventKind::failed:
    case EventKind::cancelled: return end_run(event.kind, event.body);
    case EventKind::accepted:
    case EventKind::checkpoint:
    case EventKind::answers:
    case EventKind::mark:
    case EventKind::resumed: return;
    case EventKind::log:
    case EventKind::usage:
    case EventKind::step:
    case EventKind::output:
    case EventKind::file:
    case EventKind::diff:
    case EventKind::custom:
    case EventKind::queued:
    case EventKind::gate:
    case EventKind::egress:
    case EventKind::replaced:
    case EventKind::call:
    case EventKind::subagent:
    case EventKind::subagent_text: break;
  }
  if (const auto body = json::Document::parse(event.body)) tell_body(event.kind, body.value().root());
}

void AguiTeller::tell_body(EventKind kind, json::Value body) {
  switch (kind) {
    case EventKind::step: return tell_step(body);
    case EventKind::call: return tell_call(body);
    case EventKind::output: return tell_output(body);
    case EventKind::file: return custom_as_it_is("sandbox.file", body);
    case EventKind::diff: return tell_diff(body);
    case EventKind::custom: return tell_custom(body);
    case EventKind::queued: return tell_queued(body);
    case EventKind::gate: return park(body);
    case EventKind::egress: return custom_as_it_is("sluice.egress", body);
    case EventKind::log: return tell_log(body);
    case EventKind::usage: return note_usage(body);
    case EventKind::replaced: return take_back(body);
    case EventKind::subagent: return tell_subagent(body);
    case EventKind::subagent_text: return tell_subagent_text(body);
    default: return;
  }
}

void AguiTeller::tell_step(json::Value body) {
  const auto step_id = text_in(body, "id");
  if (step_id.empty()) return;
  auto* lane = lane_of(body);
  if (lane == nullptr) return;
  const auto id = call_id_of(run_, step_id);
  auto& call = call_for(*lane, id, text_in(body, "name"));
  if (call.is_open) {
    const auto arguments = body.find("args");
    if (!call.has_arguments) add_arguments(id, call, arguments ? arguments->to_text() : "{}");
    end_call(id, call);
  }
  const auto status = text_in(body, "status");
  if (status == "succeeded") answer(id, call, content_of(body, "result"), false);
  if (status == "failed") answer(id, call, content_of(body, "error"), true);
}

void AguiTeller::tell_call(json::Value body) {
  const auto step_id = text_in(body, "id");
  if (step_id.empty()) return;
  auto* lane = lane_of(body);
  if (lane == nullptr) return;
  const auto id = call_id_of(run_, step_id);
  const auto known = calls_.find(id);
  const auto name = text_in(body, "name");
  // A piece of nothing: the step will tell all of it.
  if (name.empty() && (known == calls_.end() || known->second.is_taken_back)) return;
  auto& call = call_for(*lane, id, name);
  if (call.is_open) add_arguments(id, call, text_in(body, "args"));
}

void AguiTeller::tell_output(json::Value body) {
  const auto* lane = lane_of(body);
  if (lane == nullptr || !tells_of(lane->owner)) return;
  custom("sluice.tool-output", [&](json::Writer& writer) {
    writer.begin_object().key("toolCallId").string(call_id_of(run_, text_in(body, "id")));
    writer.key("stream").string(text_in(body, "stream")).key("text").string(text_in(body, "text")).end_object();
  });
}

// Phases of a sandbox's life are steps that are over when they are told.
void AguiTeller::tell_log(json::Value body) {
  auto phase = text_in(body, "phase");
  if (phase.empty()) return custom_as_it_is("sluice.log", body);
  const auto times = ++phases_[phase];
  if (times > 1) phase += " " + std::to_string(times);
  for (const auto type : {AguiType::step_started, AguiType::step_finished}) {
    writer_.tell({type, phase}, [&](json::Writer& writer) { writer.key("stepName").string(phase); });
  }
}

// Names without a prefix are the protocol's own; TanStack's client even acts on some of them.
void AguiTeller::tell_custom(json::Value body) {
  auto name = text_in(body, "name");
  if (name.find_first_of(".:/") == std::string::npos) name = "custom." + name;
  custom_as_it_is(name, body.find("value").value_or(json::Value()));
}

void AguiTeller::custom_as_it_is(std::string_view name, json::Value value) {
  custom(name, [&](json::Writer& writer) { writer.raw(value.to_text()); });
}

void AguiTeller::tell_diff(json::Value body) {
  const auto diff = text_in(body, "diff");
  const auto told = cut_to_fit(diff);
  custom("file.changed", [&](json::Writer& writer) {
    writer.begin_object().key("path").string(text_in(body, "path")).key("diff").string(told);
    if (told.size() < diff.size()) writer.key("truncated").boolean(true);
    writer.end_object();
  });
}

void AguiTeller::tell_queued(json::Value body) {
  custom("sluice.queued", [&](json::Writer& writer) {
    writer.begin_object();
    if (const auto position = body.find("position")) writer.key("position").raw(position->to_text());
    if (const auto hint = body.find("retry_hint_seconds")) writer.key("retryHintSeconds").raw(hint->to_text());
    writer.end_object();
  });
}

// What a client has been told cannot be untold piece by piece: it gets all messages as they are now.
void AguiTeller::take_back(json::Value body) {
  close(main_);
  main_.round.clear();
  for (auto& [id, call] : calls_) {
    if (!call.is_open || !call.owner.empty()) continue;
    end_call(id, call);
    transcript_.forget_call(id);
    call.is_taken_back = true;
  }
  const auto kept = body.find("kept_bytes");
  const auto bytes = kept ? kept->integer().value_or(0) : 0;
  const auto last = transcript_.keep_words(static_cast<std::size_t>(std::max<int64_t>(bytes, 0)));
  custom("sluice.replaced", [&](json::Writer& writer) {
    writer.begin_object();
    if (!last.empty()) writer.key("messageId").string(last);
    writer.key("keptBytes").integer(bytes).end_object();
  });
  tell_snapshot();
}

void AguiTeller::note_usage(json::Value body) {
  const auto count = [&](std::string_view name) {
    const auto value = body.find(name);
    return value ? std::max<int64_t>(value->integer().value_or(0), 0) : 0;
  };
  usage_.input = count("input_tokens");
  usage_.output = count("output_tokens");
  if (auto model = text_in(body, "model"); !model.empty()) usage_.model = std::move(model);
}

// ── words, thoughts, calls ──

// The break between two rounds' texts is not part of any message.
void AguiTeller::say_answer(std::string_view text) {
  const bool is_break = main_.text.empty() && has_answered_ && text.find_first_not_of('\n') == std::string_view::npos;
  if (is_break) return transcript_.add_gap(text.size());
  has_answered_ = true;
  say(main_, text);
}

void AguiTeller::say(Lane& lane, std::string_view text) {
  if (text.empty()) return;
  if (lane.text.empty()) {
    close_thoughts(lane);
    lane.text = lane.round = transcript_.add_words(lane.owner);
    lane.text_head = AguiWriter::head_of({AguiType::text_content, lane.text, lane.owner});
    if (tells_of(lane.owner)) {
      writer_.tell({AguiType::text_start, lane.text, lane.owner}, [&](json::Writer& writer) {
        writer.key("messageId").string(lane.text).key("role").string("assistant");
        if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
      });
    }
  }
  transcript_.go_on(lane.text, text);
  if (tells_of(lane.owner)) writer_.go_on({AguiType::text_content, lane.text, lane.owner}, lane.text_head, text);
}

void AguiTeller::think(Lane& lane, std::string_view text) {
  if (text.empty()) return;
  const auto begin = [&](AguiType type) {
    writer_.tell({type, lane.thoughts, lane.owner}, [&](json::Writer& writer) {
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
    if (tells_of(lane.owner)) {
      begin(AguiType::reasoning_start);
      begin(AguiType::reasoning_message_start);
    }
  }
  transcript_.go_on(lane.thoughts, text);
  if (!tells_of(lane.owner)) return;
  writer_.go_on({AguiType::reasoning_message_content, lane.thoughts, lane.owner}, lane.thoughts_head, text);
}

void AguiTeller::close_text(Lane& lane) {
  const auto id = std::exchange(lane.text, {});
  if (id.empty() || !tells_of(lane.owner)) return;
  writer_.tell({AguiType::text_end, id, lane.owner}, [&](json::Writer& writer) {
    writer.key("messageId").string(id);
    if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
  });
}

void AguiTeller::close_thoughts(Lane& lane) {
  const auto id = std::exchange(lane.thoughts, {});
  if (id.empty() || !tells_of(lane.owner)) return;
  for (const auto type : {AguiType::reasoning_message_end, AguiType::reasoning_end}) {
    writer_.tell({type, id, lane.owner}, [&](json::Writer& writer) {
      writer.key("messageId").string(id);
      if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
    });
  }
}

void AguiTeller::close(Lane& lane) {
  close_text(lane);
  close_thoughts(lane);
}

AguiTeller::Call& AguiTeller::call_for(Lane& asked, const std::string& id, std::string_view name) {
  const auto known = calls_.find(id);
  if (known != calls_.end() && !known->second.is_taken_back) return known->second;
  // What was the agent's own stays so.
  auto& lane = known == calls_.end() ? asked : main_;
  close(lane);
  if (lane.round.empty()) lane.round = transcript_.add_words(lane.owner);
  if (name.empty()) name = "tool";
  transcript_.add_call(lane.round, id, name);
  auto& call = calls_[id] = Call{.owner = lane.owner};
  call.head = AguiWriter::head_of({AguiType::call_args, id, lane.owner});
  if (!tells_of(lane.owner)) return call;
  writer_.tell({AguiType::call_start, id, lane.owner, lane.round}, [&](json::Writer& writer) {
    writer.key("toolCallId").string(id).key("toolCallName").string(name);
    writer.key("parentMessageId").string(lane.round);
    if (!lane.owner.empty()) writer.key("subagentRunId").string(lane.owner);
  });
  return call;
}

void AguiTeller::add_arguments(const std::string& id, Call& call, std::string_view text) {
  if (text.empty()) return;
  call.has_arguments = true;
  transcript_.go_on_with_call(id, text);
  if (tells_of(call.owner)) writer_.go_on({AguiType::call_args, id, call.owner}, call.head, text);
}

void AguiTeller::end_call(const std::string& id, Call& call) {
  call.is_open = false;
  if (!tells_of(call.owner)) return;
  writer_.tell({AguiType::call_end, id, call.owner}, [&](json::Writer& writer) {
    writer.key("toolCallId").string(id);
    if (!call.owner.empty()) writer.key("subagentRunId").string(call.owner);
  });
}

void AguiTeller::answer(const std::string& id, Call& call, std::string_view content, bool failed) {
  if (std::exchange(call.is_answered, true)) return;
  content = cut_to_fit(content);
  const auto message = transcript_.add_result(id, content, failed, call.owner);
  // What the model says or calls next is another round's.
  if (call.owner.empty()) {
    main_.round.clear();
  } else if (auto* subagent = subagent_named(call.owner)) {
    subagent->lane.round.clear();
  }
  // Its own answers a client has already.
  if (answered_by_client_.contains(id)) return transcript_.mark_as_clients(id);
  if (!tells_of(call.owner)) return;
  writer_.tell({AguiType::call_result, id, call.owner}, [&](json::Writer& writer) {
    writer.key("messageId").string(message).key("toolCallId").string(id).key("content").string(content);
    writer.key("role").string("tool");
    if (!call.owner.empty()) writer.key("subagentRunId").string(call.owner);
    if (!failed || writer_.peer() != AguiPeer::tanstack) return;
    writer.key("metadata").begin_object().key("tanstack").begin_object();
    writer.key("state").string("output-error").end_object().end_object();
  });
}

void AguiTeller::tell_whole_call(const model::ClientCall& asked) {
  if (asked.id.empty()) return;
  const auto id = call_id_of(run_, asked.id);
  auto& call = call_for(main_, id, asked.name);
  if (!call.is_open) return;
  if (!call.has_arguments) add_arguments(id, call, asked.arguments.empty() ? "{}" : asked.arguments);
  end_call(id, call);
}

}  // namespace sluice::wire
