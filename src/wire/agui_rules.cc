#include "wire/agui_rules.h"

#include <algorithm>
#include <array>

namespace sluice::wire {
namespace {

// By AguiType's numbers.
constexpr std::array<std::string_view, 22> names = {
    "RUN_STARTED",
    "RUN_FINISHED",
    "RUN_ERROR",
    "STEP_STARTED",
    "STEP_FINISHED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "REASONING_START",
    "REASONING_END",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "MESSAGES_SNAPSHOT",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
    "CUSTOM",
};

}  // namespace

std::string_view name_of(AguiType type) { return names[static_cast<std::size_t>(type)]; }

std::optional<AguiType> agui_type_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<AguiType>(found - names.begin());
}

AguiRules::Family AguiRules::family_of(AguiType type) {
  switch (type) {
    case AguiType::text_start:
    case AguiType::text_content:
    case AguiType::text_end: return Family::text;
    case AguiType::call_start:
    case AguiType::call_args:
    case AguiType::call_end: return Family::call;
    case AguiType::reasoning_start:
    case AguiType::reasoning_end: return Family::span;
    case AguiType::reasoning_message_start:
    case AguiType::reasoning_message_content:
    case AguiType::reasoning_message_end: return Family::reasoning;
    case AguiType::step_started:
    case AguiType::step_finished: return Family::step;
    case AguiType::subagent_started:
    case AguiType::subagent_finished:
    case AguiType::subagent_error: return Family::subagent;
    case AguiType::run_started:
    case AguiType::run_finished:
    case AguiType::run_error:
    case AguiType::call_result:
    case AguiType::messages_snapshot:
    case AguiType::custom: break;
  }
  return Family::none;
}

AguiRules::Act AguiRules::act_of(AguiType type) {
  switch (type) {
    case AguiType::text_start:
    case AguiType::call_start:
    case AguiType::reasoning_start:
    case AguiType::reasoning_message_start:
    case AguiType::step_started:
    case AguiType::subagent_started: return Act::open;
    case AguiType::text_content:
    case AguiType::call_args:
    case AguiType::reasoning_message_content: return Act::go_on;
    case AguiType::text_end:
    case AguiType::call_end:
    case AguiType::reasoning_end:
    case AguiType::reasoning_message_end:
    case AguiType::step_finished:
    case AguiType::subagent_finished:
    case AguiType::subagent_error: return Act::close;
    case AguiType::run_started:
    case AguiType::run_finished:
    case AguiType::run_error:
    case AguiType::call_result:
    case AguiType::messages_snapshot:
    case AguiType::custom: break;
  }
  return Act::none;
}

std::string_view AguiRules::admit(const AguiEvent& event) {
  if (event.type == AguiType::run_started || is_terminal(event.type)) return admit_run(event);
  if (phase_ != Phase::open) return "comes outside of a run";
  const auto family = family_of(event.type);
  const auto act = act_of(event.type);
  if (act == Act::go_on) {  // most events
    const auto at = find(family, event);
    if (at == open_.size()) return "continues what is not open";
    return open_[at].owner == event.owner ? "" : "continues what is another's";
  }
  if (peer_ != AguiPeer::current && (family == Family::subagent || !event.owner.empty())) {
    return "tells of a subagent, of which this client knows nothing";
  }
  if (!event.owner.empty() && !is_open(Family::subagent, event.owner)) return "is of a subagent that does not work";
  if (event.type == AguiType::call_result) return admit_result(event);
  if (act == Act::open) return admit_open(event, family);
  if (act == Act::none) return "";

  const auto at = find(family, event);
  if (at == open_.size()) return "ends what is not open";
  if (open_[at].owner != event.owner) return "ends what is another's";
  if (family == Family::subagent) {
    const auto works_on = [&](const Open& open) { return open.owner == event.id; };
    if (std::any_of(open_.begin(), open_.end(), works_on)) return "ends a subagent that has something open";
    subagents_[std::string(event.id)] = true;
  }
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  return "";
}

std::string_view AguiRules::admit_run(const AguiEvent& event) {
  if (event.type == AguiType::run_error) {
    if (phase_ == Phase::failed) return "comes after the end";
    phase_ = Phase::failed;
    return "";
  }
  if (event.type == AguiType::run_finished) {
    if (phase_ != Phase::open) return "comes outside of a run";
    if (event.id != run_) return "ends another run than began";
    if (!open_.empty()) return "comes while something is open";
    phase_ = Phase::finished;
    return "";
  }
  if (phase_ == Phase::open) return "comes while a run is open";
  phase_ = Phase::open;
  run_ = event.id;
  open_.clear();
  subagents_.clear();
  return "";
}

std::string_view AguiRules::admit_open(const AguiEvent& event, Family family) {
  if (event.id.empty()) return "has no name";
  if (find(family, event) != open_.size()) return "begins what is open";
  if (family == Family::subagent) {
    if (!subagents_.emplace(event.id, false).second) return "begins a subagent that has been";
  } else if (family == Family::text || family == Family::reasoning) {
    const auto known = messages_.emplace(event.id, event.owner).first;
    if (known->second != event.owner) return "continues another's message";
  } else if (family == Family::call) {
    const auto parent = messages_.find(event.parent);
    if (parent != messages_.end() && parent->second != event.owner) return "is part of another's message";
    const auto known = call_owners_.emplace(event.id, event.owner).first;
    if (known->second != event.owner) return "continues another's call";
    calls_.emplace(event.id, false);
  }
  open_.push_back({family, std::string(event.id), std::string(event.owner)});
  return "";
}

std::string_view AguiRules::admit_result(const AguiEvent& event) {
  const auto call = calls_.find(event.id);
  if (call == calls_.end()) return "answers a call that was not made";
  if (is_open(Family::call, event.id)) return "answers a call that is not over";
  if (call->second) return "answers a call again";
  call->second = true;
  return "";
}

std::string_view AguiRules::admit_pending(std::string_view call) const {
  const auto known = calls_.find(call);
  return known == calls_.end() || known->second ? "leaves a call to the client that is none or is answered" : "";
}

// Steps go by their owner too: two may have the same name.
std::size_t AguiRules::find(Family family, const AguiEvent& event) const {
  std::size_t at = open_.size();
  while (at > 0) {
    const auto& open = open_[--at];
    if (open.family == family && open.id == event.id && (family != Family::step || open.owner == event.owner))
      return at;
  }
  return open_.size();
}

bool AguiRules::is_open(Family family, std::string_view id) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const Open& open) { return open.family == family && open.id == id; });
}

}  // namespace sluice::wire
